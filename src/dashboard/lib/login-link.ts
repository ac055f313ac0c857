// The token of a one-time sign-in link, or of an invitation. It is removed from the address at once, so that neither
// the history nor a request contains it.

const patterns = { login: /^#login=([\w-]{20,128})$/, invite: /^#invite=([\w-]{20,128})$/ };

export function takeToken(kind: keyof typeof patterns): string | null {
  const token = patterns[kind].exec(location.hash)?.[1] ?? null;
  if (token !== null) history.replaceState(null, '', location.pathname + location.search);
  return token;
}
