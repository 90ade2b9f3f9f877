#!/usr/bin/env bash
# Fetch the jars of the Apache Kafka named in tests/pom.xml into the given folder, once.
# Without Java or Maven it says what is left out and succeeds: the rest of the project needs neither.
set -euo pipefail
cd "$(dirname "$0")/.."

jars=${1:?usage: fetch_kafka.sh FOLDER}
stamp=$jars/.complete

if [[ -n ${KCORE_KAFKA_JARS:-} ]]; then
    exit 0  # the user has a Kafka of their own
fi
if ! command -v java >/dev/null; then
    echo "left out: everything that needs a real Kafka (no java on the PATH; Java 17 and Maven are needed)" >&2
    exit 0
fi
if [[ $stamp -nt tests/pom.xml ]]; then
    exit 0
fi
if ! command -v mvn >/dev/null; then
    echo "left out: everything that needs a real Kafka (no mvn on the PATH to fetch it with; set KCORE_KAFKA_JARS to a folder of jars, or install Maven)" >&2
    exit 0
fi
echo "fetching Apache Kafka from Maven Central (54 MB) into $jars"
rm -rf "$jars"
mkdir -p "$jars"
mvn -q -B -Dstyle.color=never -f tests/pom.xml dependency:copy-dependencies -DoutputDirectory="$PWD/$jars"
touch "$stamp"
