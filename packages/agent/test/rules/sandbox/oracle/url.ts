// Hosts that a text names: every reading a parser could make of it, so that the worst one counts.

/** Work of finding one host: a parser is asked several times. */
export const workOfHost = 500;

/** The cost of a search for hosts in a text, in steps. */
export const workOfHosts = (text: string): number =>
  text.length + workOfHost * text.split(/[\s"'<>`,;|(){}]+/).length;

/** A scheme with slashes, or one of those that browsers take with any number of slashes of either kind, or none. */
const schemeAtStart = /^(?:[a-z][a-z0-9+.-]*:\/\/|(?:https?|wss?|ftps?):)/i;
const secureShell = /^(?:[^\s@/:]+@)?([^\s@/:]+):(?!\/\/)/;

/** True if a text is, as a whole, a URL with a host. */
export const looksLikeUrl = (text: string): boolean =>
  /^(?:[a-z][a-z0-9+.-]*:\/\/|(?:https?|wss?|ftps?):[\\/])/i.test(text);

/** `user@host:path`, as copying programs and git read it. */
export const looksLikeRemote = (text: string): boolean => /^[^\s@/:]+@[^\s@/:]+:\S*$/.test(text);

export const isFileUrl = (text: string): boolean => fileUrl.test(text);

/** Also within another URL, as archives, viewers and package managers name files. */
const fileUrl = /^(?:(?:jar|zip|view-source|filesystem):|(?:git|hg|svn|bzr)\+)?file:/i;

/** The path of a `file:` URL, percent-decoded by nobody yet. */
export function filePathOf(given: string): string {
  const url = given.replace(fileUrl, 'file:');
  try {
    const { pathname, hostname } = new URL(url);
    // A drive letter needs no slash before it; a host names another machine's files.
    return hostname === '' ? pathname : `//${hostname}${pathname}`;
  } catch {
    return url.replace(/^file:/i, '');
  }
}

/**
 * The hosts of the URLs in a text, in lower case, without a trailing dot: of the text parsed as a whole, and of its
 * words. "" stands for a URL from which no parser gets a host, or parsers that disagree about what a host may hold.
 */
export function hostsInText(text: string): ReadonlySet<string> {
  const hosts = new Set<string>();
  if (!text.includes(':')) return hosts;
  const whole = text.trim();
  if (schemeAtStart.test(whole) && !isFileUrl(whole)) {
    const before = hosts.size;
    addHosts(hosts, whole);
    // `http: a note` and words of a sentence: only slashes make a URL of what no parser can read.
    if (hosts.size === before && looksLikeUrl(whole) && !hasWords(whole)) hosts.add('');
  }
  for (const word of wordsOf(text)) {
    const url = urlWithin(word);
    if (url === null || isFileUrl(url)) continue;
    const before = hosts.size;
    addHosts(hosts, url);
    if (hosts.size === before && !readable(url)) hosts.add('');
  }
  return hosts;
}

/** The hosts of a text that is known to be a URL or a host name; never empty. */
export function hostsOfUrl(text: string): ReadonlySet<string> {
  const found = hostsInText(text);
  const hosts = new Set(found);
  const whole = text.trim();
  // Browsers and Python take tabs and newlines out of a URL before they read it.
  const joined = whole.replace(/[\t\n\r]/g, '');
  if (joined !== whole && schemeAtStart.test(joined)) for (const host of hostsInText(joined)) hosts.add(host);
  // A blank before the `@` is part of the user's name to some.
  if (/^[a-z][a-z0-9+.-]*:[\\/]+[^\\/?#@]*\s[^/?#]*@/i.test(joined)) hosts.add('');
  addHostBefore(hosts, joined);
  if (found.size > 0) return hosts;
  for (const word of wordsOf(text)) {
    // wget decodes a name before it looks for the host in it.
    const remote = /^[^/:]*%/.test(word) ? undefined : secureShell.exec(word)?.[1];
    const size = hosts.size;
    addHosts(hosts, word.startsWith('//') || word.startsWith('\\\\') ? `https:${word}` : `https://${word}`);
    if (remote !== undefined && hosts.size === size) hosts.add(hostOf(`https://${remote}`) ?? '');
    else if (remote !== undefined && word.includes('@')) hosts.add(hostOf(`https://${remote}`) ?? '');
    if (hosts.size === size && !readable(`https://${word}`)) hosts.add('');
  }
  if (hosts.size === 0) hosts.add('');
  return hosts;
}

/** Adds the host of a name without scheme that a URL follows: `a.com/?u=https://b.com`. */
function addHostBefore(hosts: Set<string>, text: string): void {
  if (hasWords(text)) return;
  const bare = text.replace(/^["'<({[]+/, '');
  for (const [i, piece] of bare.split(/[,;|]/).entries()) {
    const name = schemeAtStart.test(piece) ? undefined : /^([^/?#\\]+)[/?#\\].*:/.exec(piece)?.[1];
    // The text behind a comma may be the rest of a path: only a name with a dot is taken for a host there.
    if (name !== undefined && (i === 0 || name.includes('.'))) addHosts(hosts, `https://${piece}`);
  }
}

/** The host that a network program gets from one of its operands; null when it is a local file to it. */
export const hostOfRemote = (word: string): string | null => {
  const host = secureShell.exec(word)?.[1];
  return host === undefined ? null : (hostOf(`https://${host}`) ?? '');
};

/** A word from the scheme of its first URL on. */
function urlWithin(word: string): string | null {
  let start = word.search(/(?:https?|wss?|ftps?):[\\/]/i);
  const slashes = word.indexOf('://');
  if (slashes > 0) {
    let from = slashes;
    while (from > 0 && /[a-z0-9+.-]/i.test(word[from - 1] as string)) from--;
    while (from < slashes && !/[a-z]/i.test(word[from] as string)) from++;
    if (from < slashes && (start < 0 || from < start)) start = from;
  }
  return start < 0 ? null : word.slice(start);
}

const hasWords = (text: string): boolean => /\s/.test(text);
const readable = (url: string): boolean => hostOf(url) !== null;

/** Words between blanks, without the punctuation of a sentence behind them, and the pieces between other marks. */
function* wordsOf(text: string): Iterable<string> {
  for (const word of text.split(/\s+/)) {
    if (word === '') continue;
    let end = word.length;
    const closing = word.includes('[') ? ')}>.,;:\'"!?' : ')}>.,;:\'"!?]';
    while (end > 0 && closing.includes(word[end - 1] as string)) end--;
    const bare = word.slice(0, end);
    if (bare !== '') yield bare;
    if (!/["'<>`,;|(){}]/.test(bare)) continue;
    for (const piece of bare.split(/["'<>`,;|(){}]+/)) if (piece !== '' && piece !== bare) yield piece;
  }
}

/** Adds the host as browsers read a URL, and as RFC 3986 does: they differ about backslashes and several `@`. */
function addHosts(hosts: Set<string>, url: string): void {
  const browser = hostOf(url);
  if (browser !== null) hosts.add(browser);
  // A scheme with a dot is a host to some.
  const dotted = /^([a-z][a-z0-9-]*\.[a-z0-9.-]*):/i.exec(url)?.[1];
  if (dotted !== undefined) hosts.add(hostOf(`https://${dotted}`) ?? '');
  // With one slash, backslashes or none behind the scheme, curl reads as if there were two.
  const authority = /^[a-z][a-z0-9+.-]*:[\\/]*([^/?#]*)/i.exec(url)?.[1];
  if (authority === undefined) return;
  const user = authority.indexOf('@');
  const server = authority.slice(user + 1);
  // Where a backslash means nothing to browsers, it ends the address for others.
  const cut = authority.indexOf('\\');
  if (cut > 0) addServer(hosts, authority.slice(0, cut));
  // One `@` parts user and host. With more of them, programs disagree which one does.
  const host = server.includes('@') ? '' : hostOf(`https://${server}`);
  if (host !== null) hosts.add(host);
  else if (browser !== null) hosts.add('');
}

function addServer(hosts: Set<string>, authority: string): void {
  hosts.add(hostOf(`https://${authority.slice(authority.indexOf('@') + 1)}`) ?? '');
}

/**
 * The host of an absolute URL in lower case without a trailing dot; "" when it holds what no name may; null when there
 * is none.
 */
function hostOf(url: string): string | null {
  try {
    const host = new URL(url).hostname.toLowerCase().replace(/\.$/, '');
    if (host === '') return null;
    return /^[a-z0-9._%:[\]-]+$/.test(host) ? host : '';
  } catch {
    return null;
  }
}
