# Makes images/root, a file system of nothing but this machine's busybox, so that no registry is needed.
set -eu
busybox=$(command -v busybox) || {
    echo "there is no busybox here: install busybox-static, or use an image: setpoint up --profile registry" >&2
    exit 1
}
if ldd "$busybox" >/dev/null 2>&1; then
    echo "$busybox needs libraries: install busybox-static, or use an image: setpoint up --profile registry" >&2
    exit 1
fi
mkdir -p images/root/bin
cp "$busybox" images/root/bin/busybox
for name in $("$busybox" --list); do
    [ "$name" = busybox ] || ln -sf busybox "images/root/bin/$name"
done
echo "$("$busybox" --list | wc -l) programs in images/root"
