// The token of a one-time sign-in link: taken out of the address before anything else can see it, in history or in a
// request.

const pattern = /^#login=([\w-]{20,128})$/;

export function takeLoginLink(): string | null {
  const token = pattern.exec(location.hash)?.[1] ?? null;
  if (token !== null) history.replaceState(null, '', location.pathname + location.search);
  return token;
}
