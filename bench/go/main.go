// franz-go with its default settings: PollRecords into a loop.
//
// The options are those of readers/common.py; one line of JSON at the end. With -seconds it is a slow
// reader as readers/slow.py is.
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
	seconds := flag.Float64("seconds", 0, "")
	take := flag.Int("take", 100, "")
	pauseMS := flag.Float64("pause-ms", 0, "")
	budget := flag.Int("budget", 50<<20, "")
	flag.Parse()

	assigned := map[int32]kgo.Offset{}
	for p := range *partitions {
		assigned[int32(p)] = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(*bootstrap, ",")...),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{*topic: assigned}),
		kgo.FetchMaxBytes(int32(min(*budget, 50<<20))), // 50 MiB is its default
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if *seconds > 0 {
		readSlowly(client, *seconds, *take, *pauseMS)
		return
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
	found.PeakRSSMB = memoryKB("VmHWM") / 1024
	client.Close()
	json.NewEncoder(os.Stdout).Encode(found)
}

func readSlowly(client *kgo.Client, seconds float64, take int, pauseMS float64) {
	base, count := memoryKB("VmRSS"), 0
	os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak begins anew
	until := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for time.Now().Before(until) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		count += client.PollRecords(ctx, take).NumRecords()
		cancel()
		time.Sleep(time.Duration(pauseMS * float64(time.Millisecond)))
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"base_mb":   float64(base) / 1024,
		"growth_mb": float64(memoryKB("VmHWM")-base) / 1024,
		"records":   count,
	})
	client.Close()
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}

func memoryKB(what string) int {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		var kib int
		if n, _ := fmt.Sscanf(line, what+": %d kB", &kib); n == 1 {
			return kib
		}
	}
	return 0
}
