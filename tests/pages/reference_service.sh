# A service of this folder instead of /run/user/1000 and /scratch/me. Devices of other machines are
# read and not met: the program then names what is not there, and no line of its configuration.
[ -x "$CAESURA_BUILD/bin/caesura-serve" ] || { echo "this build has no service"; exit 77; }
here() { sed "s|/run/user/1000|$PWD|; s|/scratch/me|$PWD|; s|/etc/caesura|$PWD|"; }
here >serve.toml <<'END'
# block toml 1
END
caesura() { command caesura "$@" & }
# block console 1
unset -f caesura
until caesura serve status serve.toml >said 2>&1; do
    kill -0 $! # it runs still
done
caesura serve stop serve.toml
wait $! || [ $? = 1 ]

head -c 32 /dev/urandom >secret
chmod 600 secret
here >devices.toml <<'END'
listen = ["unix:/run/user/1000/other.sock"]
status = "/run/user/1000/other.json"
# block toml 2

[[write]]
directory = "/scratch/me"
END
if timeout 20 caesura serve devices.toml >said 2>&1; then exit 1; fi
cat said
if grep -q 'line [0-9]' said; then exit 1; fi
