#!/usr/bin/env bash
# A check on a Slurm cluster: an array whose first task runs the NATS server and the submitter, and whose every task works.
#
#   sbatch examples/farm/slurm.sh queue.sel --const N=12
#
# The folder must be one that all nodes see, and hold the executable (built with --features farm), the server's
# (one file: nats-server) and the program. Tasks may be killed and started again at any time; if the first one is, the job
# goes on where it was, since the server keeps everything in $STORE.
#SBATCH --job-name=selvedge
#SBATCH --array=0-15
#SBATCH --cpus-per-task=8
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --signal=TERM@30
set -euo pipefail

SELVEDGE=${SELVEDGE:-./selvedge}
STORE=${STORE:-$PWD/selvedge-farm-$SLURM_ARRAY_JOB_ID}
PORT=${PORT:-4222}
mkdir -p "$STORE"

if [ "$SLURM_ARRAY_TASK_ID" = 0 ]; then
  nats-server -js -sd "$STORE/jetstream" -p "$PORT" -l "$STORE/nats.log" &
  server=$!
  hostname > "$STORE/host.new" && mv "$STORE/host.new" "$STORE/host"
  export NATS_URL="nats://localhost:$PORT"
  until "$SELVEDGE" farm status >/dev/null 2>&1; do sleep 1; done
  "$SELVEDGE" farm work &
  worker=$!
  code=0
  "$SELVEDGE" farm check "$@" > "$STORE/report.txt" || code=$?
  # The other tasks see this and end their workers; the server is needed for that.
  touch "$STORE/finished"
  kill "$worker"
  wait "$worker" || true
  sleep 10
  kill "$server"
  wait "$server" || true
  exit "$code"
fi

until [ -e "$STORE/host" ]; do sleep 1; done
# A worker that fails, since the first task was moved to another node, is started again.
until [ -e "$STORE/finished" ]; do
  NATS_URL="nats://$(cat "$STORE/host"):$PORT" "$SELVEDGE" farm work &
  worker=$!
  while [ ! -e "$STORE/finished" ] && kill -0 "$worker" 2>/dev/null; do sleep 5; done
  kill "$worker" 2>/dev/null || true
  wait "$worker" || true
done
