# In this folder instead of /scratch/me, for half a second instead of a minute, and not into the home.
export CAESURA_CALIBRATION="$PWD/profile.json"
caesura() {
    case "$1" in
    calibrate) command caesura "${@//\/scratch\/me/$PWD}" --seconds 0.5 --codec caesura:fast ;;
    *) command caesura "$@" ;;
    esac
}
python - <<'END'
import caesura
import numpy

with caesura.Writer("run.h5") as writer:
    field = writer.define_field("rho", numpy.float32, (32, 32, 32))
    with writer.iteration(0) as iteration:
        values = numpy.random.default_rng(1).random((32, 32, 32), dtype="f4")
        iteration.begin_dump(time=0).put(field, values.cumsum(axis=0, dtype="f4"))
END
# block sh 1
test -s profile.json
# block sh 2
