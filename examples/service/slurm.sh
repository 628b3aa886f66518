#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --signal=TERM@120
#
# An unmodified HDF5 program whose files a service on each node compresses and writes.
#
#     sbatch slurm.sh APPLICATION [ARGUMENT...]
#
# CAESURA names the prefix where Caesura is installed. OUTPUT is where the application writes. The program's own launcher and options are those of the last srun but one.
set -euo pipefail
caesura=${CAESURA:?names where Caesura is installed}
output=${OUTPUT:?names where the application writes}

# The same on all nodes: a service of a node is reached by a socket of that node.
place=${TMPDIR:-/tmp}/caesura-$SLURM_JOB_ID
each_node=(srun --overlap "--ntasks=$SLURM_JOB_NUM_NODES" --ntasks-per-node=1)
"${each_node[@]}" mkdir -p "$place"
"${each_node[@]}" bash -c "cat > '$place/serve.toml'" <<CONFIG
listen = ["unix:$place/socket"]
status = "$place/status.json"
threads = 2
[[write]]
directory = "$output"
CONFIG

"${each_node[@]}" "$caesura/bin/caesura-serve" "$place/serve.toml" &
service=$!
end() {
    kill -TERM "$service" 2>/dev/null || true # it ends when its last client has gone
    wait "$service" || true
    "${each_node[@]}" rm -rf "$place"
}
trap end EXIT
"${each_node[@]}" timeout 60 bash -c "until [ -S '$place/socket' ]; do sleep 0.1; done"

# The service may die: then the application's ranks write by themselves.
cat > "$output/connector.toml" <<CONFIG
transport = "service:unix:$place/socket,on_loss=write"
on_term = "commit"
CONFIG
plugins=$(echo "$caesura"/lib*/hdf5) # lib64 on some systems
HDF5_PLUGIN_PATH=$plugins/vol:$plugins/plugin \
    HDF5_VOL_CONNECTOR="caesura config=$output/connector.toml" \
    srun --overlap "$@"
