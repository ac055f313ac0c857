// Hosts that a text names. A URL counts only in its canonical form: of every other form programs read different hosts.
import { type Budget, spend } from '../regex/regex.ts';
import type { WordKind } from './profiles/profile.ts';

/** Steps of a search for one host: a parser is asked. */
const workOfHost = 500;

const { raw } = String;
/**
 * A scheme with slashes, or one of those that browsers take with any number of slashes of either kind, or none. A
 * `file:` URL names no host.
 */
const scheme = raw`(?:(?<![a-z0-9+.-])(?!(?:(?:git|hg|svn|bzr)\+)?file:)[a-z0-9+.-]+:\/\/|(?:https?|wss?|ftps?):)`;
const schemeAtStart = new RegExp(`^${scheme}(?!$)`, 'i');
/** A URL in a text: its address ends at a blank or a path, its path at a blank or a mark. */
const urlsIn = new RegExp(raw`${scheme}[\\/]*[^\s/?#]*(?:[/?#][^\s"'<>\x60,;|(){}]*)?`, 'gi');

/** Of an address with quotes, commas or brackets programs read different parts. */
const canonicalForm = /^[a-z][a-z0-9+-]*:\/\/[^\s\\/?#"'<>`,;|(){}]+(?:[/?#][^\s\\]*)?$/;

/** True if a text begins as a URL with a host does. */
export const looksLikeUrl = (text: string): boolean =>
  /^(?:[a-z][a-z0-9+.-]*:\/\/|(?:https?|wss?|ftps?):[\\/])/i.test(text);

/** `user@host:path`, as copying programs and git read it. */
export const looksLikeRemote = (text: string): boolean => /^[^\s@/:]+@[^\s@/:]+:\S*$/.test(text);

/**
 * The host of a canonical URL in lower case without a trailing dot. "" for every other text, and for a scheme with a
 * dot, which is a host to some programs.
 */
function hostOf(url: string): string {
  if (!canonicalForm.test(url) || !URL.canParse(url)) return '';
  const { href, hostname } = new URL(url);
  const host = hostname.toLowerCase().replace(/\.$/, '');
  return (href === url || href === `${url}/`) && /^[a-z0-9._:[\]-]+$/.test(host) ? host : '';
}

/** The hosts of the URLs in a text, each without the punctuation of a sentence behind it. */
function hostsInText(text: string): readonly string[] {
  return [...text.matchAll(urlsIn)].flatMap(([match]) => {
    const ends = match.includes('[') ? ')}>.,;\'"!?' : ')}>.,;\'"!?]';
    let length = match.length;
    while (ends.includes(match[length - 1] as string)) length--;
    const url = match.slice(0, length);
    // A scheme alone names no host.
    return /^[^:]*:$/.test(url) ? [] : [hostOf(url)];
  });
}

/** The host of a whole text that is a URL; null if it is none, or if a sentence follows. */
function hostOfUrl(text: string): string | null {
  const url = text.trim();
  if (!schemeAtStart.test(url)) return null;
  // A blank ends a URL, unless it may belong to the address.
  const address = /^[^:]*:[\\/]*([^/?#]*)/.exec(url)?.[1] ?? '';
  return /\s/.test(url) && !/[\t\n\r@\\]/.test(address) ? null : hostOf(url);
}

/** The host of a whole text that is a URL, `user@host:path`, or a name with a port or a path behind it. */
function hostOfName(text: string): string {
  if (schemeAtStart.test(text.trim())) return hostOf(text);
  if (/^[\w.+-]+@[^\s@/:]+:[^\s@]*$/.test(text)) return hostOfRemote(text) ?? '';
  const isName = /^(?:[\w.+-]+@|\/\/)?[^\s"'<>`,;|(){}@]+$/.test(text);
  const name = isName ? text.replace(/^\/\//, '') : '';
  // A port that one scheme leaves out of its canonical form stays in that of the other.
  return hostOf(`https://${name}`) || hostOf(`http://${name}`);
}

/** The host in `host:path`; null for a local file. */
function hostOfRemote(text: string): string | null {
  const host = /^(?:[^\s@/:]+@)?([^\s@/:]+):(?!\/\/)/.exec(text)?.[1];
  return host === undefined ? null : hostOf(`https://${host}`);
}

/** The hosts that a text of a kind names, with those of the URLs in it; "" for one that is not canonical. */
export function hostsOf(text: string, kind: WordKind, budget: Budget): readonly string[] {
  const searches = text.split(':').length - (kind === 'host' ? 0 : 1);
  spend(budget, text.length + workOfHost * searches);
  // A `ref` has a host where a dot or an `@` stands before its colon, and no branch behind it.
  const isRemote = kind === 'remote' || (kind === 'ref' && /^[^:]*[.@][^:]*:(?!refs\/)/.test(text));
  const remote = isRemote && !text.includes('://') ? hostOfRemote(text) : null;
  const own = kind === 'host' ? hostOfName(text) : (remote ?? hostOfUrl(text));
  return own === null ? hostsInText(text) : [...hostsInText(text), own];
}
