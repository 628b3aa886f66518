# In this folder instead of /scratch/me. Exit code 1 says that something must be set: 8 ranks are
# more than most machines of tests have cores.
caesura() { command caesura "${@//\/scratch\/me/$PWD}" >job.sh || [ $? = 1 ]; }
# block sh 1
grep -q '^#SBATCH' job.sh
