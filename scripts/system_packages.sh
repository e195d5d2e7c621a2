#!/usr/bin/env bash
# Makes sure that what pip cannot install is there: "java" (17 or 21), "postgresql" (its server's programs), "pgbouncer", "chromium", "podman".
# usage: system_packages.sh [java] [postgresql] [pgbouncer] [chromium] [podman]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

has_java() { "$here/java_home.sh" >/dev/null; }

has_postgresql() {
    command -v initdb >/dev/null || compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null \
        || { command -v pg_config >/dev/null && [ -x "$(pg_config --bindir)/initdb" ]; }
}

has_pgbouncer() { command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ]; }

has_chromium() { command -v chromium >/dev/null; }

# What runs containers as root also where there is no systemd, and a Debian to build them upon.
has_podman() { command -v podman >/dev/null && command -v runc >/dev/null && command -v debootstrap >/dev/null; }

java_package() {
    for version in 17 21; do
        if apt-cache show "openjdk-$version-jre-headless" >/dev/null 2>&1; then
            echo "openjdk-$version-jre-headless"
            return
        fi
    done
    echo "openjdk-17-jre-headless"
}

missing=()
for need in "$@"; do
    "has_$need" || missing+=("$need")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "Missing on this machine: ${missing[*]}. Install them with your system's packages and run this again." >&2
    exit 1
fi
may_install=false
[ "$(id -u)" -ne 0 ] || may_install=true
if $may_install; then
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    apt-get update -qq >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
fi

packages=()
for need in "${missing[@]}"; do
    case "$need" in
        java) packages+=("$(java_package)") ;;
        postgresql) packages+=(postgresql) ;;
        pgbouncer) packages+=(pgbouncer) ;;
        chromium) packages+=(chromium) ;;
        podman) packages+=(podman buildah runc netavark aardvark-dns iptables debootstrap) ;;
    esac
done
if ! $may_install; then
    echo "Missing on this machine: ${missing[*]}. Run: sudo apt-get install ${packages[*]}" >&2
    exit 1
fi

# The tests start their own servers, so Debian's is not set going: no cluster of its own.
if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common
    echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
fi
echo "Installing ${packages[*]}"
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
    -o Dpkg::Options::=--force-confold "${packages[@]}" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }

for need in "${missing[@]}"; do
    "has_$need" || { echo "${packages[*]} installed, and still no $need was found." >&2; exit 1; }
done
