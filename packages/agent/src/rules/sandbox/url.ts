// Hosts that a text names. A URL counts only in its canonical form: of every other form programs read different hosts.
import { type Budget, spend } from '../regex/regex.ts';
import { isFileUrl } from './path.ts';
import type { WordKind } from './profiles/profile.ts';

/** Steps of a search for one host: a parser is asked. */
const workOfHost = 500;

/** A scheme with slashes, or one of those that browsers take with any number of slashes of either kind, or none. */
const schemeAtStart = /^(?:[a-z][a-z0-9+.-]*:\/\/|(?:https?|wss?|ftps?):)/i;

/** True if a text is, as a whole, a URL with a host. */
export const looksLikeUrl = (text: string): boolean =>
  /^(?:[a-z][a-z0-9+.-]*:\/\/|(?:https?|wss?|ftps?):[\\/])/i.test(text);

/** `user@host:path`, as copying programs and git read it. */
export const looksLikeRemote = (text: string): boolean => /^[^\s@/:]+@[^\s@/:]+:\S*$/.test(text);

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

/** The hosts of the URLs among the words of a text. */
function hostsInText(text: string): Set<string> {
  const hosts = new Set<string>();
  const whole = text.trim();
  if (schemeAtStart.test(whole) && !isFileUrl(whole)) {
    // Of a sentence the first word is a URL of its own, unless a blank belongs to the address.
    const first = whole.split(/\s/, 1)[0] ?? '';
    const isSentence = first !== whole;
    // Programs disagree about which of several `@` ends the name of the user.
    if ((isSentence ? /[\t\n\r@\\]/ : /@.*@/).test(addressOf(whole))) hosts.add('');
    // Also what no parser takes: some programs read a host in it. A scheme alone names none.
    if (!/^[^:]*:$/.test(first)) hosts.add(hostOf(isSentence ? withoutPunctuation(first) : whole));
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

/** The host of a URL or a name; null for a text of words with hosts of their own. */
function hostOfName(text: string, hasHosts: boolean): string | null {
  const bare = withoutEnd(text.replace(/^["'<({]+/, ''), '"\'>)}');
  if (schemeAtStart.test(bare.trim())) return hostOf(bare);
  // A sentence counts by the URLs in it; tabs and newlines within a URL are nothing to browsers.
  if (/\s/.test(text)) return hasHosts && !/[\t\n\r@\\]/.test(text) ? null : '';
  if (/^[\w.+-]+@[^\s@/:]+:[^\s@]*$/.test(text)) return hostOfRemote(text);
  const isName = !/["'<>`,;|(){}]/.test(text) && /^(?:[\w.+-]+@)?[^@]*$/.test(text);
  const name = isName ? text.replace(/^\/\//, '') : '';
  // A port that one scheme leaves out of its canonical form stays in that of the other.
  return hostOf(`https://${name}`) || hostOf(`http://${name}`);
}

/** The host that a network program gets from one of its operands; null when it is a local file to it. */
function hostOfRemote(word: string): string | null {
  const host = /^(?:[^\s@/:]+@)?([^\s@/:]+):(?!\/\/)/.exec(word)?.[1];
  return host === undefined ? null : hostOf(`https://${host}`);
}

/** The hosts that a text of a kind names, with those of the URLs among its words; "" for one that is not canonical. */
export function hostsOf(text: string, kind: WordKind, budget: Budget): readonly string[] {
  const searches = text.split(':').length - (kind === 'host' ? 0 : 1);
  spend(budget, text.length + workOfHost * searches);
  const hosts = hostsInText(text);
  const [start = '', branch = ''] = text.split(':', 2);
  // A `ref` has a host where a dot or an `@` stands before its colon, and no branch behind it.
  const isRemote = kind === 'remote' || (kind === 'ref' && /[.@]/.test(start) && !branch.startsWith('refs/'));
  const remote = isRemote && !text.includes('://') ? hostOfRemote(text) : null;
  const own = kind === 'host' ? hostOfName(text, hosts.size > 0) : remote;
  return own === null ? [...hosts] : [...hosts, own];
}

/** A text up to the last character that is not among some. */
function withoutEnd(text: string, ends: string): string {
  let length = text.length;
  while (length > 0 && ends.includes(text[length - 1] as string)) length--;
  return text.slice(0, length);
}
