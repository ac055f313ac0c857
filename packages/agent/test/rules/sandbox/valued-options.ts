// Options that take the next word as their value, by program: from the help of GNU's tools, curl, wget and git 2.39.
// Long names are written without their dashes.

export const valuedOptions: { readonly [program: string]: string } = {
  base32: 'wrap',
  base64: 'wrap',
  basename: 'suffix',
  cargo: 'color config explain',
  chgrp: 'reference',
  chmod: 'reference',
  chown: 'from reference',
  cksum: 'algorithm length',
  cmp: 'bytes ignore-initial',
  column: `output-separator output-width separator table-columns table-columns-limit table-hide table-name
    table-noextreme table-order table-right table-truncate table-wrap tree tree-id tree-parent`,
  comm: 'output-delimiter',
  cp: 'no-preserve sparse suffix target-directory',
  csplit: 'digits prefix suffix-format',
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
  cut: 'bytes characters delimiter fields output-delimiter',
  date: 'date file reference rfc-3339 set',
  df: 'block-size exclude-type type',
  diff: `exclude exclude-from from-file horizon-lines ifdef ignore-matching-lines line-format palette show-
    function-line starting-file tabsize to-file width`,
  dir: 'block-size format hide ignore indicator-style quoting-style sort tabsize time time-style width',
  du: 'block-size exclude exclude-from files0-from max-depth threshold time time-style',
  env: 'chdir split-string unset',
  expand: 'tabs',
  fold: 'width',
  'git add': 'chmod pathspec-from-file',
  'git am': 'directory empty exclude include patch-format quoted-cr whitespace -C -p',
  'git apply': 'build-fake-ancestor directory exclude include whitespace -C -p',
  'git blame': 'contents ignore-rev ignore-revs-file -L -S',
  'git branch': 'contains format merged no-contains no-merged points-at set-upstream-to sort -u',
  'git checkout': 'conflict orphan pathspec-from-file -B -b',
  'git cherry-pick': 'cleanup mainline strategy strategy-option -X -m',
  'git clean': 'exclude -e',
  'git clone': `branch bundle-uri config depth filter jobs origin reference reference-if-able separate-git-dir
    server-option shallow-exclude shallow-since template upload-pack -b -c -j -o -u`,
  'git commit': `author cleanup date file message pathspec-from-file reedit-message reuse-message squash template
    trailer -C -F -c -m -t`,
  'git config': 'blob default file type -f -t',
  'git describe': 'candidates exclude match',
  'git fetch': `deepen depth filter jobs negotiation-tip refmap server-option shallow-exclude shallow-since upload-
    pack -j -o`,
  'git for-each-ref': 'contains count format merged no-contains no-merged points-at sort',
  'git format-patch': `add-header base cc cover-from-description creation-factor filename-max-length in-reply-to interdiff
    output-directory range-diff reroll-count signature signature-file start-number subject-prefix suffix
    to -o -v`,
  'git grep': 'after-context before-context context max-count max-depth threads -A -B -C -e -f -m',
  'git hash-object': 'path -t',
  'git init': 'initial-branch object-format separate-git-dir template -b',
  'git log': 'decorate-refs decorate-refs-exclude -L',
  'git ls-files': 'exclude exclude-from exclude-per-directory format with-tree -X -x',
  'git ls-remote': 'server-option sort upload-pack -o',
  'git ls-tree': 'format',
  'git merge': 'cleanup file into-name message strategy strategy-option -F -X -m -s',
  'git name-rev': 'exclude refs',
  'git notes add': 'file message reedit-message reuse-message -C -F -c -m',
  'git prune': 'expire',
  'git pull': `cleanup deepen depth negotiation-tip refmap server-option shallow-exclude shallow-since strategy
    strategy-option upload-pack -X -o -s`,
  'git push': 'exec push-option receive-pack repo -o',
  'git rebase': 'empty exec onto strategy strategy-option whitespace -C -X -s -x',
  'git remote add': 'master track -m -t',
  'git reset': 'pathspec-from-file',
  'git restore': 'conflict pathspec-from-file source -s',
  'git revert': 'cleanup mainline strategy strategy-option -X -m',
  'git rm': 'pathspec-from-file',
  'git shortlog': 'group',
  'git show': 'decorate-refs decorate-refs-exclude -L',
  'git stash push': 'message pathspec-from-file -m',
  'git switch': 'conflict create force-create orphan -C -c',
  'git symbolic-ref': '-m',
  'git tag': `cleanup contains file format local-user merged message no-contains no-merged points-at sort -F -m -u
    cleanup contains file format local-user merged message no-contains no-merged points-at sort -F -m -u`,
  'git worktree add': 'reason -B -b',
  'git worktree lock': 'reason',
  grep: `after-context before-context binary-files context devices directories exclude exclude-dir exclude-
    from file group-separator include label max-count regexp`,
  gzip: 'suffix',
  hexdump: 'format format-file length skip',
  install: 'group mode owner strip-program suffix target-directory',
  ionice: 'class classdata pgid pid uid',
  less: 'line-num-width rscroll status-col-width wheel-lines',
  ln: 'suffix target-directory',
  ls: 'block-size format hide ignore indicator-style quoting-style sort tabsize time time-style width',
  mkdir: 'mode',
  mv: 'suffix target-directory',
  nice: 'adjustment',
  nl: `body-numbering footer-numbering header-numbering join-blank-lines line-increment number-format
    number-separator number-width section-delimiter starting-line-number`,
  od: 'address-radix format read-bytes skip-bytes',
  paste: 'delimiters',
  pip: `cache-dir cert client-cert exists-action keyring-provider log proxy python retries timeout trusted-
    host use-deprecated use-feature`,
  realpath: 'relative-base relative-to',
  sed: 'line-length',
  seq: 'format separator',
  shuf: 'head-count input-range output random-source',
  sort: `batch-size buffer-size compress-program field-separator files0-from key output parallel random-
    source sort temporary-directory`,
  split: 'additional-suffix bytes filter line-bytes lines number separator suffix-length',
  stat: 'cached format printf',
  stdbuf: 'error input output',
  strace: `abbrev attach columns const-print-style decode-fds env fault inject interruptible output quiet raw
    read signal status string-limit summary-columns summary-sort-by summary-syscall-overhead trace-path
    user verbose write`,
  tac: 'separator',
  tail: 'max-unchanged-stats pid sleep-interval',
  tar: `add-file after-date blocking-factor checkpoint-action directory exclude exclude-from exclude-ignore
    exclude-ignore-recursive exclude-tag exclude-tag-all exclude-tag-under file files-from format group
    group-map hole-detection index-file info-script label level listed-incremental mode mtime new-
    volume-script newer newer-mtime no-quote-chars owner owner-map quote-chars quoting-style record-size
    rmt-command rsh-command sort sparse-version starting-file strip-components suffix tape-length to-
    command transform use-compress-program volno-file warning xattrs-exclude xattrs-include xform`,
  timeout: 'kill-after signal',
  touch: 'date reference time',
  truncate: 'reference size',
  unexpand: 'tabs',
  uniq: 'check-chars skip-chars skip-fields',
  watch: 'equexit interval',
  wc: 'files0-from',
  wget: `accept accept-regex append-output backups base bind-address body-data body-file ca-certificate ca-
    directory certificate certificate-type ciphers compression config connect-timeout crl-file cut-dirs
    default-page directory-prefix dns-timeout domains exclude-directories exclude-domains execute
    follow-tags ftp-password ftp-user header http-password http-user ignore-tags include-directories
    input-file level limit-rate load-cookies local-encoding method output-document output-file password
    pinnedpubkey post-data post-file prefer-family private-key private-key-type progress proxy-password
    proxy-user quota read-timeout referer regex-type reject reject-regex rejected-log remote-encoding
    report-speed restrict-file-names retry-on-http-error save-cookies secure-protocol start-pos timeout
    tries use-askpass user user-agent wait waitretry warc-dedup warc-file warc-header warc-max-size
    warc-tempdir`,
  xargs: 'arg-file delimiter max-args max-chars max-lines max-procs process-slot-var replace',
  xz: 'threads',
  zstd: 'patch-from',
};
