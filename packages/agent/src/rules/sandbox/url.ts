// Hosts that a text names. A URL counts only in its canonical form: of every other form programs read different hosts.

/** Work of finding one host: a parser is asked. */
export const workOfHost = 500;

/** The cost of a search for hosts in a text, in steps. */
export const workOfHosts = (text: string): number => text.length + workOfHost * text.split(':').length;

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

/** A URL in a text, from its scheme up to a blank or a mark that ends it. */
const urlsIn =
  /(?:(?<![a-z0-9+.-])[0-9+.-]*(?=[a-z][a-z0-9+.-]*:\/\/)|(?=(?:https?|wss?|ftps?):[\\/]))(?<url>[^\s"'<>`,;|(){}]+)/gi;
/** Marks behind a URL, up to the end of the word. */
const closing = /[)}>.,;:'"!?\]]*(?:\s|$)/y;
const addressOf = (url: string): string => /^[^:]*:[\\/]*([^/?#]*)/.exec(url)?.[1] ?? '';
/** A URL without the punctuation of a sentence behind it. */
const withoutPunctuation = (url: string): string =>
  withoutEnd(url, url.includes('[') ? ')}>.,;:\'"!?' : ')}>.,;:\'"!?]');

/** The hosts of the URLs among the words of a text; "" for one that is not canonical. */
export function hostsInText(text: string): ReadonlySet<string> {
  const hosts = new Set<string>();
  const whole = text.trim();
  if (schemeAtStart.test(whole) && !isFileUrl(whole)) {
    // Of a sentence the first word is a URL of its own, unless a blank belongs to the address.
    const first = whole.split(/\s/, 1)[0] ?? '';
    const isSentence = first !== whole;
    // Programs disagree about which of several `@` ends the name of the user.
    if ((isSentence ? /[\t\n\r@\\]/ : /@.*@/).test(addressOf(whole))) hosts.add('');
    // Also what no parser takes: some programs read a host in it. A scheme alone names none.
    if (!first.endsWith(':')) hosts.add(hostOf(isSentence ? withoutPunctuation(first) : whole));
  }
  for (const { 0: match, index, groups } of text.matchAll(urlsIn)) {
    const url = withoutPunctuation(groups?.url ?? '');
    if (isFileUrl(url)) continue;
    hosts.add(hostOf(url));
    closing.lastIndex = index + match.length;
    // An address with quotes or commas in it is read in too many ways.
    if (url.endsWith(addressOf(url)) && !closing.test(text)) hosts.add('');
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
  } else {
    const remote = /^[\w.+-]+@[^\s@/:]+:[^\s@]*$/.test(text) ? hostOfRemote(text) : null;
    // A port that one scheme leaves out of its canonical form stays in that of the other.
    const isName = !/["'<>`,;|(){}]/.test(text) && /^(?:[\w.+-]+@)?[^@]*$/.test(text);
    const name = isName ? text.replace(/^\/\//, '') : '';
    hosts.add(remote ?? (hostOf(`https://${name}`) || hostOf(`http://${name}`)));
  }
  return hosts;
}

/** The host that a network program gets from one of its operands; null when it is a local file to it. */
export const hostOfRemote = (word: string): string | null => {
  const host = /^(?:[^\s@/:]+@)?([^\s@/:]+):(?!\/\/)/.exec(word)?.[1];
  return host === undefined ? null : hostOf(`https://${host}`);
};

/** A text up to the last character that is not among some. */
function withoutEnd(text: string, ends: string): string {
  let length = text.length;
  while (length > 0 && ends.includes(text[length - 1] as string)) length--;
  return text.slice(0, length);
}
