#!/bin/sh
# Makes a fresh checkout ready: checks Node.js, finds or installs a Redis server, installs and builds the packages.
# Run it again at any time: what is there already is left as it is.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")"

main() {
  check_node
  find_redis || install_redis
  if packages_are_installed; then
    is_built || build
  else
    install_packages
  fi
  say 'ready; next: npm run demo, or for your own data: npx market-mirror init'
}

say() {
  printf 'setup: %s\n' "$1"
}

fail() {
  printf 'setup: %s\n' "$1" >&2
  exit 1
}

has() {
  command -v "$1" >/dev/null 2>&1
}

check_node() {
  has node || fail 'Node.js is missing: install version 20.19 or newer (https://nodejs.org), then run this again'
  node -e '
    const [major, minor] = process.versions.node.split(".").map(Number);
    const [leastMajor, leastMinor] = require("./package.json").engines.node.match(/\d+/g).map(Number);
    process.exit(major > leastMajor || (major === leastMajor && minor >= leastMinor) ? 0 : 1);
  ' || fail "Node.js $(node --version) is too old: install version 20.19 or newer, then run this again"
  has npm || fail 'npm is missing: install it beside Node.js, then run this again'
}

find_redis() {
  has redis-server || has valkey-server
}

install_redis() {
  by_hand='install redis-server or valkey-server, then run this again'
  if has apt-get; then
    say 'found no redis-server: installing it with apt-get'
    say '(Debian may start it as a service too; market-mirror runs one of its own and does not use that one)'
    as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y redis-server
  elif has dnf; then
    say 'found no redis-server: installing valkey or redis with dnf'
    as_root dnf install -y valkey || as_root dnf install -y redis
  elif has apk; then
    say 'found no redis-server: installing redis or valkey with apk'
    as_root apk add --no-cache redis || as_root apk add --no-cache valkey
  elif has brew; then
    say 'found no redis-server: installing redis with brew'
    brew install redis
  else
    fail "found no redis-server and no apt-get, dnf, apk or brew to install it with: $by_hand"
  fi || fail "redis-server could not be installed (see above): $by_hand"
  find_redis || fail "redis-server was installed, but is not on PATH: $by_hand"
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif has sudo; then
    say "running as root: $*"
    sudo "$@"
  else
    say 'this needs root, and there is no sudo'
    return 1
  fi
}

# npm writes node_modules/.package-lock.json last. The native module is tried too: it may have been compiled for
# another version of Node.js.
packages_are_installed() {
  [ -f node_modules/.package-lock.json ] || return 1
  [ -z "$(find package-lock.json -newer node_modules/.package-lock.json)" ] || return 1
  sqlite_loads 2>/dev/null
}

sqlite_loads() {
  node -e 'new (require("better-sqlite3"))(":memory:")'
}

install_packages() {
  say 'installing the packages with npm ci (a minute or two where SQLite has to be compiled)'
  npm ci --include=dev ||
    fail 'npm ci failed (see above); to compile SQLite it needs python3, make and a C++ compiler'
  sqlite_loads || fail 'better-sqlite3 does not load: let npm run install scripts (ignore-scripts=false), then run this again'
  is_built || build
}

# The build makes its result executable last. A folder from which a file was taken is newer than the result.
is_built() {
  [ -x dist/src/cli.js ] && [ -z "$(find src jobs tsconfig*.json -newer dist/src/cli.js)" ]
}

build() {
  say 'building with npm run build'
  npm run build || fail 'the build failed (see above)'
}

main
