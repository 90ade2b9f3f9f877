#!/usr/bin/env bash
# Fetch the jars of the Hadoop YARN named in tests/pipeline/pom.xml into the given folder, once.
# Without Java or Maven it says what is left out and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

jars=${1:?usage: fetch_yarn.sh FOLDER}
stamp=$jars/.complete
pom=tests/pipeline/pom.xml

left_out() {
    echo "left out: jobs on a real YARN ($1)" >&2
    exit 0
}

[[ ! $stamp -nt $pom ]] || exit 0
command -v "${JAVA_HOME:+$JAVA_HOME/bin/}java" >/dev/null ||
    left_out "no java on the PATH or in JAVA_HOME"
command -v mvn >/dev/null || left_out "no mvn on the PATH to fetch it"

echo "fetching Hadoop YARN from Maven Central (89 MB) into $jars"
rm -rf "$jars"
mkdir -p "$jars"
copy=(dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$PWD/$jars")
if ! said=$(mvn -q -B -f "$pom" "${copy[@]}" 2>&1); then
    echo "$said" >&2
    rm -rf "$jars"
    left_out "Maven could not fetch it, see above"
fi
touch "$stamp"
