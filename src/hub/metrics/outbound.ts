// Times the calls to one service, and notes whether the last one had an answer.
import type { Durations } from '../../shared/meters.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Outbound } from '../../shared/ports/outbound.ts';

/** Any answer with a status below 500 shows that the service works. */
export function meteredOutbound(
  outbound: Pick<Outbound, 'send'>,
  durations: Durations,
  clock: Pick<Clock, 'monotonic'>,
): { readonly outbound: Pick<Outbound, 'send'>; readonly isUp: () => boolean } {
  let isUp = true;
  return {
    isUp: () => isUp,
    outbound: {
      async send(request) {
        const begun = clock.monotonic();
        try {
          const answer = await outbound.send(request);
          isUp = answer.status < 500;
          return answer;
        } catch (error) {
          isUp = false;
          throw error;
        } finally {
          durations.add(clock.monotonic() - begun);
        }
      },
    },
  };
}
