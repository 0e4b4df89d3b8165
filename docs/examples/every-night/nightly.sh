#!/bin/sh
# Classifies the tenders of a night, and alerts a person if that is needed.
#
#   nightly.sh [FOLDER]
#
# FOLDER (default: /srv/tenders) has tenders.csv and tender-pipeline.toml. The codes go to codes.csv,
# and the page, the summary and the log of each start of this script to reports/.
#
#   TRIES  how often to run while the service is down or a limit is reached (default: 8)
#   PAUSE  seconds between two tries (default: 900)
#   ALERT  a command that gets the message for a person on standard input (default: the system log)
set -u
folder=${1:-/srv/tenders}

alert() {
    sh -c "${ALERT:-logger -p user.err -t tenders}"
}

if ! { cd "$folder" && mkdir -p reports && [ -w reports ]; }; then
    echo "tenders: nothing was run, because the folder $folder is missing or read-only" | alert
    exit 2
fi
night=reports/$(date +%F-%H%M%S)

try=1
while :; do
    tender-pipeline run tenders.csv --config tender-pipeline.toml --output codes.csv \
        --report "$night.html" > "$night.txt" 2>> "$night.log"
    code=$?
    case $code in
        6 | 7) [ "$try" -lt "${TRIES:-8}" ] || break ;;
        *) break ;;
    esac
    try=$((try + 1))
    sleep "${PAUSE:-900}"
done

case $code in
    0 | 3) ;; # the output is complete
    *)
        {
            echo "tenders: exit code $code"
            cat "$night.txt"
            tail -n 20 "$night.log"
        } | alert
        ;;
esac
exit "$code"
