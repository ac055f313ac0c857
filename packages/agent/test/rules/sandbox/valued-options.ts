// Options that take the next word as their value, by program: from the help of GNU's tools, curl, wget and git 2.39.
// Long names are written without their dashes.

export const valuedOptions: { readonly [program: string]: string } = {
  base32: '-w wrap',
  base64: '-w wrap',
  basename: '-s suffix',
  cargo: '-C -Z color config explain',
  chgrp: 'reference',
  chmod: 'reference',
  chown: 'from reference',
  cksum: '-a -l algorithm length',
  cmp: '-i -n bytes ignore-initial',
  column: `-E -H -N -O -R -T -W -c -i -l -n -o -p -r -s output-separator output-width separator table-columns
    table-columns-limit table-hide table-name table-noextreme table-order table-right table-truncate
    table-wrap tree tree-id tree-parent`,
  comm: 'output-delimiter',
  cp: '-S -t no-preserve sparse suffix target-directory',
  csplit: '-b -f -n digits prefix suffix-format',
  curl: `abstract-unix-socket alt-svc aws-sigv4 cacert capath cert cert-type ciphers config connect-timeout
    connect-to continue-at cookie cookie-jar create-file-mode crlfile curves data data-ascii data-binary
    data-raw data-urlencode delegation dns-interface dns-ipv4-addr dns-ipv6-addr dns-servers doh-url
    dump-header egd-file engine etag-compare etag-save expect100-timeout form form-string ftp-account
    ftp-alternative-to-user ftp-method ftp-port ftp-ssl-ccc-mode happy-eyeballs-timeout-ms header help
    hostpubmd5 hostpubsha256 hsts interface json keepalive-time key key-type krb libcurl limit-rate
    local-port login-options mail-auth mail-from mail-rcpt max-filesize max-redirs max-time netrc-file
    noproxy oauth2-bearer output output-dir parallel-max pass pinnedpubkey proto proto-default proto-
    redir proxy-cacert proxy-capath proxy-cert proxy-cert-type proxy-ciphers proxy-crlfile proxy-header
    proxy-key proxy-key-type proxy-pass proxy-pinnedpubkey proxy-service-name proxy-tls13-ciphers proxy-
    tlsauthtype proxy-tlspassword proxy-tlsuser proxy-user pubkey quote random-file range rate referer
    request request-target resolve retry retry-delay retry-max-time sasl-authzid service-name socks4
    socks4a socks5 socks5-gssapi-service socks5-hostname speed-limit speed-time stderr telnet-option
    tftp-blksize time-cond tls-max tls13-ciphers tlsauthtype tlspassword tlsuser trace trace-ascii unix-
    socket upload-file url url-query user user-agent write-out`,
  cut: '-b -c -d -f bytes characters delimiter fields output-delimiter',
  date: '-d -f -r -s date file reference rfc-3339 set',
  df: '-B -t -x block-size exclude-type type',
  diff: `-D -F -I -S -W -X -x exclude exclude-from from-file horizon-lines ifdef ignore-matching-lines line-
    format palette show-function-line starting-file tabsize to-file width`,
  dir: `-I -T -w block-size format hide ignore indicator-style quoting-style sort tabsize time time-style
    width`,
  du: '-B -X -d -t block-size exclude exclude-from files0-from max-depth threshold time time-style',
  env: '-C -S -u chdir split-string unset',
  expand: '-t tabs',
  file: '-F -e -f -m',
  fold: '-w width',
  'git add': 'chmod pathspec-from-file',
  'git am': '-C -p directory empty exclude include patch-format quoted-cr whitespace',
  'git apply': '-C -p build-fake-ancestor directory exclude include whitespace',
  'git blame': '-L -S contents ignore-rev ignore-revs-file',
  'git branch': '-u contains format merged no-contains no-merged points-at set-upstream-to sort',
  'git checkout': '-B -b conflict orphan pathspec-from-file',
  'git cherry-pick': '-X -m cleanup mainline strategy strategy-option',
  'git clean': '-e exclude',
  'git clone': `-b -c -j -o -u branch bundle-uri config depth filter jobs origin reference reference-if-able
    separate-git-dir server-option shallow-exclude shallow-since template upload-pack`,
  'git commit': `-C -F -c -m -t author cleanup date file message pathspec-from-file reedit-message reuse-message
    squash template trailer`,
  'git config': '-f -t blob default file type',
  'git describe': 'candidates exclude match',
  'git fetch': `-j -o deepen depth filter jobs negotiation-tip refmap server-option shallow-exclude shallow-since
    upload-pack`,
  'git for-each-ref': 'contains count format merged no-contains no-merged points-at sort',
  'git format-patch': `-o -v add-header base cc cover-from-description creation-factor filename-max-length in-reply-to
    interdiff output-directory range-diff reroll-count signature signature-file start-number subject-
    prefix suffix to`,
  'git grep': '-A -B -C -e -f -m after-context before-context context max-count max-depth threads',
  'git hash-object': '-t path',
  'git init': '-b initial-branch object-format separate-git-dir template',
  'git log': '-L decorate-refs decorate-refs-exclude',
  'git ls-files': '-X -x exclude exclude-from exclude-per-directory format with-tree',
  'git ls-remote': '-o server-option sort upload-pack',
  'git ls-tree': 'format',
  'git merge': '-F -X -m -s cleanup file into-name message strategy strategy-option',
  'git name-rev': 'exclude refs',
  'git notes add': '-C -F -c -m file message reedit-message reuse-message',
  'git prune': 'expire',
  'git pull': `-X -o -s cleanup deepen depth negotiation-tip refmap server-option shallow-exclude shallow-since
    strategy strategy-option upload-pack`,
  'git push': '-o exec push-option receive-pack repo',
  'git rebase': '-C -X -s -x empty exec onto strategy strategy-option whitespace',
  'git remote add': '-m -t master track',
  'git reset': 'pathspec-from-file',
  'git restore': '-s conflict pathspec-from-file source',
  'git revert': '-X -m cleanup mainline strategy strategy-option',
  'git rm': 'pathspec-from-file',
  'git shortlog': 'group',
  'git show': '-L decorate-refs decorate-refs-exclude',
  'git stash push': '-m message pathspec-from-file',
  'git switch': '-C -c conflict create force-create orphan',
  'git symbolic-ref': '-m',
  'git tag': `-F -m -u cleanup contains file format local-user merged message no-contains no-merged points-at sort
    -F -m -u cleanup contains file format local-user merged message no-contains no-merged points-at sort`,
  'git worktree add': '-B -b reason',
  'git worktree lock': 'reason',
  grep: `-A -B -C -D -d -e -f -m after-context before-context binary-files context devices directories
    exclude exclude-dir exclude-from file group-separator include label max-count regexp`,
  gzip: '-S suffix',
  hexdump: '-e -f -n -s format format-file length skip',
  install: '-S -g -m -o -t group mode owner strip-program suffix target-directory',
  ionice: '-P -c -n -p -u class classdata pgid pid uid',
  join: '-1 -2 -a -e -j -o -t -v',
  less: 'line-num-width rscroll status-col-width wheel-lines',
  ln: '-S -t suffix target-directory',
  ls: `-I -T -w block-size format hide ignore indicator-style quoting-style sort tabsize time time-style
    width`,
  mkdir: '-m mode',
  mv: '-S -t suffix target-directory',
  nice: '-n adjustment',
  nl: `-b -d -f -h -i -l -n -s -v -w body-numbering footer-numbering header-numbering join-blank-lines
    line-increment number-format number-separator number-width section-delimiter starting-line-number`,
  od: '-A -N -S -j -t address-radix format read-bytes skip-bytes',
  paste: '-d delimiters',
  pip: `cache-dir cert client-cert exists-action keyring-provider log proxy python retries timeout trusted-
    host use-deprecated use-feature`,
  realpath: 'relative-base relative-to',
  sed: '-l line-length',
  seq: '-f -s format separator',
  shuf: '-i -n -o head-count input-range output random-source',
  sort: `-S -T -k -o -t batch-size buffer-size compress-program field-separator files0-from key output
    parallel random-source sort temporary-directory`,
  split: '-C -a -b -l -n -t additional-suffix bytes filter line-bytes lines number separator suffix-length',
  stat: 'cached format printf',
  stdbuf: '-e -i -o error input output',
  strace: `-E -I -O -P -S -U -X -a -e -o -p -s -u abbrev attach columns const-print-style decode-fds env fault
    inject interruptible output quiet raw read signal status string-limit summary-columns summary-sort-
    by summary-syscall-overhead trace-path user verbose write`,
  tac: '-s separator',
  tail: '-s max-unchanged-stats pid sleep-interval',
  tar: `-C -F -H -I -K -L -N -T -V -X -b -f -g add-file after-date blocking-factor checkpoint-action
    directory exclude exclude-from exclude-ignore exclude-ignore-recursive exclude-tag exclude-tag-all
    exclude-tag-under file files-from format group group-map hole-detection index-file info-script label
    level listed-incremental mode mtime new-volume-script newer newer-mtime no-quote-chars owner owner-
    map quote-chars quoting-style record-size rmt-command rsh-command sort sparse-version starting-file
    strip-components suffix tape-length to-command transform use-compress-program volno-file warning
    xattrs-exclude xattrs-include xform`,
  timeout: '-k -s kill-after signal',
  touch: '-d -r -t date reference time',
  truncate: '-r -s reference size',
  unexpand: '-t tabs',
  uniq: '-f -s -w check-chars skip-chars skip-fields',
  watch: '-n -q equexit interval',
  wc: 'files0-from',
  wget: `-A -B -D -I -O -P -Q -R -T -U -X -a -e -i -l -o -t -w accept accept-regex append-output backups base
    bind-address body-data body-file ca-certificate ca-directory certificate certificate-type ciphers
    compression config connect-timeout crl-file cut-dirs default-page directory-prefix dns-timeout
    domains exclude-directories exclude-domains execute follow-tags ftp-password ftp-user header http-
    password http-user ignore-tags include-directories input-file level limit-rate load-cookies local-
    encoding method output-document output-file password pinnedpubkey post-data post-file prefer-family
    private-key private-key-type progress proxy-password proxy-user quota read-timeout referer regex-
    type reject reject-regex rejected-log remote-encoding report-speed restrict-file-names retry-on-
    http-error save-cookies secure-protocol start-pos timeout tries use-askpass user user-agent wait
    waitretry warc-dedup warc-file warc-header warc-max-size warc-tempdir`,
  xargs: `-E -I -L -P -a -d -n -s arg-file delimiter max-args max-chars max-lines max-procs process-slot-var
    replace`,
  xz: '-T threads',
  zstd: '-D -o patch-from',
};
