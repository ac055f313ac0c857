// Judges concurrent increments by one of one value. Pure.
import type { Call } from '../history.ts';

/** The answer to an acknowledged increment. */
const answerOf = (call: Call | undefined): number => (call?.output as { value?: number } | null)?.value ?? 0;

/** How long before its call a node's death may have been noted. */
const notedMs = 100;

/**
 * @param value the value in the end
 * @param deaths when nodes were killed: an increment whose outcome nobody knows was at one of them
 */
export function checkCounter(
  calls: readonly Call[],
  value: number,
  deaths: readonly { readonly node: string; readonly at: number }[],
): readonly string[] {
  const violations: string[] = [];
  if (!Number.isInteger(value)) violations.push(`the value is ${value}`);
  const acknowledged = calls.filter(({ outcome }) => outcome === 'ok');
  const unknown = calls.filter(({ outcome }) => outcome === 'unknown' || outcome === 'pending');
  if (value < acknowledged.length) {
    violations.push(`${acknowledged.length} increments were acknowledged, the value is ${value}`);
  }
  if (value > acknowledged.length + unknown.length) {
    violations.push(
      `${acknowledged.length} acknowledged and ${unknown.length} unknown, the value is ${value}`,
    );
  }
  for (const { node, invoked, ended, status } of unknown) {
    const died = deaths.some(
      (death) => death.node === node && death.at >= invoked - notedMs && death.at <= ended,
    );
    if (!died)
      violations.push(`an increment was answered ${status} by ${node}, which was not killed meanwhile`);
  }
  const given = new Map<number, number>();
  for (const call of acknowledged) {
    const answer = answerOf(call);
    given.set(answer, (given.get(answer) ?? 0) + 1);
    if (answer > value) violations.push(`an increment was answered ${answer}, beyond the value of ${value}`);
  }
  for (const [answer, times] of given) {
    if (times > 1) violations.push(`${times} increments were answered the same ${answer}`);
  }
  // A caller that began after another had ended must see a larger value.
  const ordered = [...acknowledged].sort((a, b) => a.ended - b.ended);
  let highest = 0;
  let at = 0;
  for (const call of [...acknowledged].sort((a, b) => a.invoked - b.invoked)) {
    for (; at < ordered.length && (ordered[at]?.ended ?? 0) < call.invoked; at++) {
      highest = Math.max(highest, answerOf(ordered[at]));
    }
    const answer = answerOf(call);
    if (answer <= highest) violations.push(`an increment was answered ${answer} after another's ${highest}`);
  }
  return violations;
}
