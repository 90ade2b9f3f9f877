#!/usr/bin/env bash
# Fetch the jars of the Apache Kafka named in tests/pom.xml into the given folder, once. Without
# Java or Maven it says what is left out and succeeds: the rest of the project needs neither.
set -euo pipefail
cd "$(dirname "$0")/.."

jars=${1:?usage: fetch_kafka.sh FOLDER}
stamp=$jars/.complete

left_out() {
    echo "left out: everything that needs a real Kafka ($1)" >&2
    exit 0
}

[[ -z ${KCORE_KAFKA_JARS:-} ]] || exit 0 # the user has a Kafka of their own
command -v "${JAVA_HOME:+$JAVA_HOME/bin/}java" >/dev/null ||
    left_out "no java on the PATH or in JAVA_HOME; it takes Java 17 and Maven"
[[ ! $stamp -nt tests/pom.xml ]] || exit 0
command -v mvn >/dev/null || left_out "no mvn on the PATH to fetch it; or set KCORE_KAFKA_JARS"

echo "fetching Apache Kafka from Maven Central (126 MB) into $jars"
rm -rf "$jars"
mkdir -p "$jars"
copy=(dependency:copy-dependencies -DoutputDirectory="$PWD/$jars")
if ! said=$(mvn -q -B -f tests/pom.xml "${copy[@]}" 2>&1); then
    echo "$said" >&2
    rm -rf "$jars"
    left_out "Maven could not fetch it, see above"
fi
touch "$stamp"
