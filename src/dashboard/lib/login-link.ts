// The token of a one-time sign-in link. It is removed from the address at once, so that neither the history nor a
// request contains it.

const pattern = /^#login=([\w-]{20,128})$/;

export function takeLoginLink(): string | null {
  const token = pattern.exec(location.hash)?.[1] ?? null;
  if (token !== null) history.replaceState(null, '', location.pathname + location.search);
  return token;
}
