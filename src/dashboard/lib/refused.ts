// A refusal that an admin can override. Its form keeps its input during a retry, and after a failed retry.
import { useRef } from 'react';

/**
 * True if the hub refused this request, now or in an earlier attempt.
 * @param of identifies the request: another one was not refused yet
 */
export function useRefused(isRefused: boolean, of: string): boolean {
  const refused = useRef<string | null>(null);
  if (isRefused) refused.current = of;
  return refused.current === of;
}
