#!/usr/bin/env bash
# Fetch Spark's own Kafka connector (JVM), which tests and benches run beside ours, into the given
# folder, once. The set is one that works together under pyspark 4.2 and 4.3; each jar comes alone,
# because what they would pull in is in pyspark already. Without Java or Maven it says what is left
# out and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

jars=${1:?usage: fetch_spark_connector.sh FOLDER}
stamp=$jars/.complete
connector=(
    org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0
    org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0
    org.apache.commons:commons-pool2:2.12.0
    org.apache.kafka:kafka-clients:3.9.1
)

left_out() {
    echo "left out: everything beside Spark's own Kafka connector ($1)" >&2
    exit 0
}

[[ ! $stamp -nt $0 ]] || exit 0
command -v "${JAVA_HOME:+$JAVA_HOME/bin/}java" >/dev/null ||
    left_out "no java on the PATH or in JAVA_HOME"
command -v mvn >/dev/null || left_out "no mvn on the PATH to fetch it"

echo "fetching Spark's Kafka connector from Maven Central (11 MB) into $jars"
rm -rf "$jars"
mkdir -p "$jars"
for artifact in "${connector[@]}"; do
    copy=(dependency:copy "-Dartifact=$artifact" "-DoutputDirectory=$PWD/$jars")
    if ! said=$(mvn -q -B "${copy[@]}" 2>&1); then
        echo "$said" >&2
        rm -rf "$jars"
        left_out "Maven could not fetch $artifact, see above"
    fi
done
touch "$stamp"
