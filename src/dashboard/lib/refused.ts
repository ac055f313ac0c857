// A refusal that an admin may override: its form stays, with what was typed into it, while it is sent again and when
// that fails for another reason.
import { useRef } from 'react';

/**
 * Whether the hub refused it, now or in a try before.
 * @param of what is sent: another one was not refused yet
 */
export function useRefused(isRefused: boolean, of: string): boolean {
  const refused = useRef<string | null>(null);
  if (isRefused) refused.current = of;
  return refused.current === of;
}
