#!/bin/sh
# Makes a fresh checkout ready: checks Node.js, finds or installs a Redis server, installs and builds the packages.
# With --tests it also installs what only the tests use.
# Run it again at any time: what is there already is left as it is.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")"

# What only tests use, one a line: the tool, and the package that has it for apt-get, dnf, apk and brew. A '-' stands
# where the system brings it along, or nobody packs it.
test_tools='
python3         python3      python3                   python3      python
sqlite3         sqlite3      sqlite                    sqlite       sqlite
openssl         openssl      openssl                   openssl      openssl
ps              procps       procps-ng                 procps       -
script          bsdutils     util-linux-script         util-linux   -
systemd-notify  systemd      systemd                   -            -
libfaketime     libfaketime  libfaketime               libfaketime  libfaketime
promtool        prometheus   golang-github-prometheus  prometheus   prometheus
chromium        chromium-headless-shell  chromium  chromium  chromium
initdb          postgresql   postgresql-server         postgresql17  postgresql@17
'

main() {
  for option in "$@"; do
    [ "$option" = --tests ] || fail "unknown option $option: there is only --tests, for what only the tests use"
  done
  check_node
  find_redis || install_redis
  [ $# -eq 0 ] || find_test_tools || install_test_tools
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
    update_apt && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y redis-server
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

# Sets `missing` to the tools that are not there, and `packages` to those that would bring them here.
find_test_tools() {
  missing=''
  packages=''
  while read -r tool by_apt by_dnf by_apk by_brew; do
    if [ -z "$tool" ] || find_test_tool "$tool"; then continue; fi
    missing="${missing:+$missing, }$tool"
    if has apt-get; then
      package=$by_apt
    elif has dnf; then
      package=$by_dnf
    elif has apk; then
      package=$by_apk
    else
      package=$by_brew
    fi
    [ "$package" = - ] || packages="$packages $package"
  done <<END
$test_tools
END
  [ -z "$missing" ]
}

find_test_tool() {
  case $1 in
    # It is no program: another is started with it. test/helpers/tools.ts looks in the same folders.
    libfaketime)
      [ -n "$(find /usr/lib/*/faketime /usr/lib/faketime /usr/lib64/faketime /usr/local/lib/faketime \
        /opt/homebrew/lib/faketime -name 'libfaketime.*1*' 2>/dev/null)" ]
      ;;
    # Any of them will do. test/helpers/tools.ts looks for the same names.
    chromium)
      has chromium-headless-shell || has headless_shell || has chromium || has chromium-browser || has google-chrome
      ;;
    # A server of Postgres: Debian and others keep its programs off PATH. test/helpers/postgres.ts looks in the same folders.
    initdb)
      has initdb || [ -n "$(find /usr/lib/postgresql /usr/libexec -name initdb 2>/dev/null)" ]
      ;;
    *) has "$1" ;;
  esac
}

# The names of packages hold no spaces, and are many words on purpose.
# shellcheck disable=SC2086
install_test_tools() {
  say "installing what only the tests use: $missing"
  if has apt-get; then
    install_test_packages_by_apt
  elif has dnf; then
    as_root dnf install -y $packages
  elif has apk; then
    as_root apk add --no-cache $packages
  elif has brew; then
    brew install $packages
  else
    fail "found no apt-get, dnf, apk or brew to install it with: install $missing, then run this again"
  fi || say 'not everything could be installed (see above)'
  find_test_tools || fail "still missing: $missing; install what you can, for the tests that use it fail without it"
}

# shellcheck disable=SC2086
install_test_packages_by_apt() {
  update_apt || return
  others=''
  for package in $packages; do
    # The whole package would start a service: only promtool is taken out of it.
    if [ "$package" = prometheus ]; then
      install_promtool_of_debian || return
    else
      # Debian would make a cluster of the server and start it; the tests have one of their own.
      [ "$package" != postgresql ] || echo 'create_main_cluster = false' |
        as_root install -D -m 644 /dev/stdin /etc/postgresql-common/createcluster.conf || return
      others="$others $package"
    fi
  done
  [ -z "$others" ] ||
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      -o Dpkg::Options::=--force-confold $others
}

install_promtool_of_debian() (
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  cd "$folder" && apt-get download prometheus && dpkg-deb --extract prometheus_*.deb . &&
    as_root install -D -m 755 usr/bin/promtool /usr/local/bin/promtool
)

# Once a run, whatever is missing.
update_apt() {
  [ -n "${updated:-}" ] || as_root apt-get update || return
  updated=yes
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
  [ -x dist/src/cli.js ] && [ -z "$(find src jobs model-api web tsconfig*.json -newer dist/src/cli.js)" ]
}

build() {
  say 'building with npm run build'
  npm run build || fail 'the build failed (see above)'
}

main "$@"
