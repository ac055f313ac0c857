// Hosts that a text names. A URL counts only in its canonical form: of every other form programs read different hosts.

/** Work of finding one host: a parser is asked. */
export const workOfHost = 500;

const separators = /[\s"'<>`,;|(){}]+/;

/** The cost of a search for hosts in a text, in steps. */
export const workOfHosts = (text: string): number => text.length + workOfHost * text.split(separators).length;

/** A scheme with slashes, or one of those that browsers take with any number of slashes of either kind, or none. */
const schemeAtStart = /^(?:[a-z][a-z0-9+.-]*:\/\/|(?:https?|wss?|ftps?):)/i;

/** True if a text is, as a whole, a URL with a host. */
export const looksLikeUrl = (text: string): boolean =>
  /^(?:[a-z][a-z0-9+.-]*:\/\/|(?:https?|wss?|ftps?):[\\/])/i.test(text);

/** `user@host:path`, as copying programs and git read it. */
export const looksLikeRemote = (text: string): boolean => /^[^\s@/:]+@[^\s@/:]+:\S*$/.test(text);

/** Also within another URL, as archives, viewers and package managers name files. */
const fileUrl = /^(?:(?:jar|zip|view-source|filesystem):|(?:git|hg|svn|bzr)\+)?file:/i;
export const isFileUrl = (text: string): boolean => fileUrl.test(text);

/** The path of a `file:` URL, percent-encoded as it is. */
export function filePathOf(text: string): string {
  const url = text.replace(fileUrl, 'file:');
  if (!URL.canParse(url)) return url.replace(/^file:/i, '');
  const { pathname, hostname } = new URL(url);
  // A drive letter needs no slash before it; a host names another machine's files.
  return hostname === '' ? pathname : `//${hostname}${pathname}`;
}

/**
 * The host of a canonical URL in lower case without a trailing dot. "" for every other text, and for a scheme with a
 * dot, which is a host to some programs.
 */
function hostOf(url: string): string {
  if (!/^[a-z][a-z0-9+-]*:\/\/[^\s\\]+$/.test(url) || !URL.canParse(url)) return '';
  const { href, hostname } = new URL(url);
  const host = hostname.toLowerCase().replace(/\.$/, '');
  return (href === url || href === `${url}/`) && /^[a-z0-9._:[\]-]+$/.test(host) ? host : '';
}

/** The hosts of the URLs among the words of a text; "" for one that is not canonical. */
export function hostsInText(text: string): ReadonlySet<string> {
  const hosts = new Set<string>();
  if (!text.includes(':')) return hosts;
  const whole = text.trim();
  if (schemeAtStart.test(whole) && !isFileUrl(whole)) {
    // Of a sentence the first word is a URL of its own, unless a blank belongs to the address.
    const address = /^[^:]*:[\\/]*([^/?#]*)/.exec(whole)?.[1] ?? '';
    const isSentence = /\s/.test(whole);
    // Programs disagree about which of several `@` ends the name of the user.
    if (/@.*@/.test(address)) hosts.add('');
    // Also what no parser takes: some programs read a host in it. A scheme alone names none.
    if (!isSentence && !whole.endsWith(':')) hosts.add(hostOf(whole));
    if (isSentence && /\s/.test(address) && (address.includes('@') || URL.canParse(whole))) hosts.add('');
    if (isSentence && !/^[a-z0-9+.-]+:\/\//i.test(whole) && URL.canParse(whole)) hosts.add('');
  }
  for (const word of text.split(/\s+/).map(withoutPunctuation)) {
    const url = urlWithin(word);
    if (url === null) continue;
    // An address with quotes or commas in it is read in too many ways.
    const address = /^[^:]*:[\\/]*([^/?#]*)/.exec(url)?.[1] ?? '';
    if (!isFileUrl(url) && separators.test(address)) hosts.add('');
    for (const piece of word.split(separators)) {
      const own = urlWithin(piece);
      if (own !== null && !isFileUrl(own)) hosts.add(hostOf(own));
    }
  }
  return hosts;
}

/** The hosts of a text that is a URL, a host name or a remote by its name or place; never empty. */
export function hostsOfUrl(text: string): ReadonlySet<string> {
  const hosts = new Set(hostsInText(text));
  const bare = withoutEnd(text.replace(/^["'<({]+/, ''), '"\'>)}');
  if (schemeAtStart.test(bare.trim())) hosts.add(hostOf(bare));
  else if (/\s/.test(text)) {
    // A sentence counts by the URLs in it; tabs and newlines within a URL are nothing to browsers.
    if (hosts.size === 0 || /[\t\n\r@\\]/.test(text)) hosts.add('');
  } else if (/^[\w.+-]+@[^\s@/:]+:[^\s@]*$/.test(text)) hosts.add(hostOfRemote(text) ?? '');
  else {
    // A port that one scheme leaves out of its canonical form stays in that of the other.
    const isName = !/["'<>`,;|(){}]/.test(text) && /^(?:[\w.+-]+@)?[^@]*$/.test(text);
    const name = isName ? text.replace(/^\/\//, '') : '';
    hosts.add(hostOf(`https://${name}`) || hostOf(`http://${name}`));
  }
  return hosts;
}

const secureShell = /^(?:[^\s@/:]+@)?([^\s@/:]+):(?!\/\/)/;

/** The host that a network program gets from one of its operands; null when it is a local file to it. */
export const hostOfRemote = (word: string): string | null => {
  const host = secureShell.exec(word)?.[1];
  return host === undefined ? null : hostOf(`https://${host}`);
};

/** A word from the scheme of its first URL on. */
function urlWithin(word: string): string | null {
  let start = word.search(/(?:https?|wss?|ftps?):[\\/]/i);
  const slashes = word.indexOf('://');
  let from = slashes;
  while (from > 0 && /[a-z0-9+.-]/i.test(word[from - 1] as string)) from--;
  while (from < slashes && !/[a-z]/i.test(word[from] as string)) from++;
  if (from < slashes && (start < 0 || from < start)) start = from;
  return start < 0 ? null : word.slice(start);
}

/** A text up to the last character that is not among some. */
function withoutEnd(text: string, ends: string): string {
  let length = text.length;
  while (length > 0 && ends.includes(text[length - 1] as string)) length--;
  return text.slice(0, length);
}

/** A word without the punctuation of a sentence behind it. */
const withoutPunctuation = (word: string): string =>
  withoutEnd(word, word.includes('[') ? ')}>.,;:\'"!?' : ')}>.,;:\'"!?]');
