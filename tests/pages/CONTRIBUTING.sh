# The targets of make are there, and tools/dev.py knows their arguments; nothing is built.
make() {
    command make --dry-run -C "$CAESURA_SOURCES" "$@" | tee said
    sed -n 's|.*tools/dev.py|python tools/dev.py|p' said >>commands
}
# block sh 1
cd "$CAESURA_SOURCES"
while read -r command; do
    eval "$command --help" >/dev/null
done <"$OLDPWD/commands"
