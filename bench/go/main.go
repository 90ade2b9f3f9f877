// franz-go with its default settings: PollRecords into a loop.
//
// The options are those of readers/common.py; one line of JSON at the end.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type figures struct {
	Name      string  `json:"name"`
	Records   int     `json:"records"`
	Bytes     int64   `json:"bytes"`
	Offsets   int64   `json:"offsets"`
	WallS     float64 `json:"wall_s"`
	CPUS      float64 `json:"cpu_s"`
	PeakRSSMB int     `json:"peak_rss_mb"`
}

func main() {
	bootstrap := flag.String("bootstrap", "", "")
	topic := flag.String("topic", "", "")
	partitions := flag.Int("partitions", 4, "")
	records := flag.Int("records", 0, "")
	maxPoll := flag.Int("max-poll-records", 500, "")
	flag.Parse()

	assigned := map[int32]kgo.Offset{}
	for p := range *partitions {
		assigned[int32(p)] = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(*bootstrap, ",")...),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{*topic: assigned}),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// The client fetches from the moment it is made; that is a few microseconds ago.
	found := figures{Name: "franz-go"}
	wall, cpu := time.Now(), cpuSeconds()
	for found.Records < *records {
		fetches := client.PollRecords(context.Background(), *maxPoll)
		if err := fetches.Err(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		for records := fetches.RecordIter(); !records.Done(); found.Records++ {
			record := records.Next()
			found.Bytes += int64(len(record.Value) + len(record.Key))
			found.Offsets += record.Offset
		}
	}
	found.WallS = time.Since(wall).Seconds()
	found.CPUS = cpuSeconds() - cpu
	found.PeakRSSMB = peakRSSMB()
	client.Close()
	json.NewEncoder(os.Stdout).Encode(found)
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}

func peakRSSMB() int {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib / 1024
		}
	}
	return 0
}
