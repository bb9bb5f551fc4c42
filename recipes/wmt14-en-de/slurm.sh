#!/usr/bin/env bash
# Trains a recipe on several nodes, one process a node, or one a device of NVIDIA's:
#
#     sbatch recipes/wmt14-en-de/slurm.sh RECIPE DATA
#     sbatch --nodes=1 --ntasks-per-node=8 --gpus-per-task=1 --cpus-per-task=8 recipes/wmt14-en-de/slurm.sh RECIPE DATA cuda
#
# RECIPE's batch.accumulate must be a multiple of the number of processes. All nodes must see recipe, data and runs/ under
# the same paths. Submitted again, or requeued by Slurm, the run goes on from its newest checkpoint.

#SBATCH --job-name=umlaut-train
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append

set -euo pipefail

recipe=${1:?"usage: sbatch slurm.sh RECIPE DATA [DEVICE]"}
data=${2:?"usage: sbatch slurm.sh RECIPE DATA [DEVICE]"}
device=${3:-cpu}
run=runs/$(basename "$recipe")

resume=()
if compgen -G "$run/checkpoint-*" > /dev/null; then
    resume=(--resume)
elif [[ -e $run ]]; then
    # It ended before its first checkpoint: there is nothing to go on from.
    mv "$run" "$run.before-$SLURM_JOB_ID"
fi

# A process that dies ends the job: the others would wait for it. MPI_TYPE is what `srun --mpi=list` offers for the MPI
# library that umlaut was built with.
srun --mpi="${MPI_TYPE:-pmix}" --kill-on-bad-exit=1 --cpus-per-task="$SLURM_CPUS_PER_TASK" \
    umlaut train "$recipe" --data "$data" --run "$run" --device "$device" --threads "$SLURM_CPUS_PER_TASK" "${resume[@]}"
