#!/usr/bin/env bash
# Fetch the jars of the older Kafkas named in tests/older/pom.xml into folders below the given one,
# once. Without Java or Maven it says what is left out and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:?usage: fetch_older.sh FOLDER}
pom=tests/older/pom.xml

left_out() {
    echo "left out: older releases of Kafka ($1)" >&2
    exit 0
}

[[ ! $folder/.complete -nt $pom ]] || exit 0
command -v "${JAVA_HOME:+$JAVA_HOME/bin/}java" >/dev/null ||
    left_out "no java on the PATH or in JAVA_HOME"
command -v mvn >/dev/null || left_out "no mvn on the PATH to fetch them"

echo "fetching older releases of Kafka from Maven Central (340 MB) into $folder"
rm -rf "$folder"
for release in $(sed -n 's:.*<id>\(.*\)</id>.*:\1:p' "$pom"); do
    mkdir -p "$folder/$release"
    copy=(dependency:copy-dependencies -DoutputDirectory="$PWD/$folder/$release")
    if ! said=$(mvn -q -B -f "$pom" -P "$release" "${copy[@]}" 2>&1); then
        echo "$said" >&2
        rm -rf "$folder"
        left_out "Maven could not fetch $release, see above"
    fi
done
touch "$folder/.complete"
