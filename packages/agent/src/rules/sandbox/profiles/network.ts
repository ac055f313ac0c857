// Programs that use the network. An option that sends them elsewhere, or runs a command, has no place here.
import { flags, simple, underNames } from './profile.ts';

/** Settings of ssh for one connection that name neither a command nor another host. */
const sshSettings = `StrictHostKeyChecking= ConnectTimeout= BatchMode= ServerAliveInterval= ServerAliveCountMax= LogLevel=
  ConnectionAttempts= PasswordAuthentication= IdentitiesOnly= Port= User= Compression= TCPKeepAlive= AddressFamily=`;

/** Curl expands braces and ranges itself, also in quotes: they may spell a scheme, or a folder below `file:`. */
const curlPattern = /^(?!\[[\da-f:.]+\])(?=[^\s"']*$)(?=.*:)(?=.*\/)(?:file:.*|[^/]*)[{[]/i;

/** True if curl may read another scheme or path in a word, or write the file of `%output{x}`. */
export const mayBeCurlUrl = (word: string): boolean => curlPattern.test(word) || word.includes('%output{');

/**
 * True if curl reads another name in a path: it puts matches of a URL's braces in place of `#1`, and expands braces of
 * a file that it uploads.
 */
export const isCurlPattern = (option: string, path: string): boolean =>
  /#\d/.test(path) || (/^(?:--up|-[^-]*T)/.test(option) && /[{[]/.test(path));

/** True if a word behind curl may be such a path, where no profile says so. JSON and URLs are none. */
export const mayBeCurlName = (word: string): boolean => /^[^"':]*(?:[{[]|#\d)/.test(word);

/** Up to the port, or the path, of a URL with one of the schemes that programs are commonly given. */
export const addressOfUrl =
  /^(?:https?|wss?|s?ftp|ssh|git(?:\+ssh)?|postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|amqps?|nats|tcp|grpc|s3|gs):\/\/[^\s:]*/i;

export const network = [
  ...underNames('curl', {
    options: {
      flag: flags(
        '#0123456afgGiIjJklLMnNOpqRsSvZ',
        `silent show-error location fail fail-with-body include head insecure get compressed verbose remote-name
         remote-header-name remote-time progress-bar http1.1 http2 http3 ipv4 ipv6 create-dirs no-buffer globoff
         no-progress-meter location-trusted tcp-nodelay ssl-reqd tlsv1.2 tlsv1.3 parallel retry-connrefused
         retry-all-errors version path-as-is`,
      ),
      path: '-o --output --output-dir -T --upload-file -D --dump-header -c --cookie-jar --cacert --cert -E --key --trace --trace-ascii',
      number:
        '-m --max-time --connect-timeout --retry --retry-delay --retry-max-time --max-redirs --limit-rate -C -y -Y',
      word: `-H --header -d --data --data-raw --data-binary --data-urlencode --json -F --form -X --request -A --user-agent
        -e --referer -u --user -b --cookie -w --write-out -r --range --url-query`,
      host: '--url',
    },
    operands: ['host'],
  }),
  ...underNames('wget', {
    options: {
      flag: flags(
        'bcdFhHkKLmNnpqrSvVxE46',
        `quiet verbose no-verbose continue recursive no-parent mirror page-requisites convert-links timestamping spider
         no-check-certificate show-progress server-response content-disposition no-clobber https-only -nv -nc -nd -nH -np`,
      ),
      path: '-O -o -P -a --output-document --output-file --directory-prefix --append-output --post-file --body-file',
      number: '-t -T -w -l -Q --tries --timeout --wait --level --quota --limit-rate',
      word: '-U --user-agent --header --post-data --body-data --method --referer -A -R --accept --reject',
    },
    operands: ['host'],
  }),
  ...underNames('ssh', {
    options: {
      flag: flags('46aACfgGkKMnNqsTtVvxXyY'),
      number: '-p',
      path: '-i -E',
      word: '-l -c -m -o',
    },
    values: { '-o': sshSettings },
    // Its own options may follow the host.
    operands: ['host', 'word'],
  }),
  ...underNames('scp', {
    options: { flag: flags('346BCpqrTv'), number: '-P -l', path: '-i', word: '-o' },
    values: { '-o': sshSettings },
    operands: ['remote'],
  }),
  ...underNames('sftp', {
    options: { flag: flags('46aCpqrv'), number: '-P -l', path: '-i -b', word: '-o' },
    values: { '-o': sshSettings },
    operands: ['host', 'path'],
  }),
  ...underNames(
    'rsync',
    simple(
      '0468abcdEgGhHiIklLmnNopPqrRsStuvVWxyz',
      `archive verbose recursive delete delete-after delete-before delete-excluded dry-run compress progress stats partial
       human-readable links perms times update existing ignore-existing checksum quiet itemize-changes size-only inplace
       append no-perms no-owner no-group relative`,
      ['remote'],
      {
        path: '--exclude-from --include-from --files-from',
        word: '--exclude --include',
        number: '--bwlimit --timeout --port',
      },
    ),
  ),
  ...underNames('nc ncat netcat', {
    options: { flag: flags('46dhklnrtuvzN'), number: '-w -p -i' },
    operands: ['host', 'number'],
  }),
  ...underNames('telnet ftp', { options: { flag: flags('468aEKLdginv') }, operands: ['host', 'number'] }),
  ...underNames('ping ping6', simple('46aAbBdDfhnqrRv', '', ['host'], { number: '-c -i -W -w -s -t -I' })),
  ...underNames('dig host nslookup', { options: { flag: flags('46rv') }, operands: ['host'] }),
];
