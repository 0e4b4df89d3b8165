#!/bin/sh
# Classifies the tenders of a night, and alerts a person if that is needed.
#
#   nightly.sh [FOLDER]
#
# FOLDER (default: /srv/tenders) has tenders.csv and tender-pipeline.toml. The codes go to codes.csv,
# and the page and the log (with the summary) of each start of this script to reports/.
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
    echo "tenders: nothing was run, because the folder $folder is missing, read-only or full" | alert
    exit 2
fi
night=reports/$(date +%F-%H%M%S)

try=1
while :; do
    # What it says is kept in memory, too: the folder may be full, which is then the reason to tell.
    said=$({
        tender-pipeline run tenders.csv --config tender-pipeline.toml --output codes.csv \
            --report "$night.html" 2>&1
        echo "exit code $?"
    } | tee -a "$night.log")
    code=${said##*exit code }
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
            echo "tenders failed in $folder"
            printf '%s\n' "$said" | tail -n 30
        } | alert
        ;;
esac
exit "$code"
