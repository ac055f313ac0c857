// The queues of notifications, worked on this node. The work of each job belongs to the use cases
// (notification/use-cases/notifications.ts, notification/use-cases/channels.ts).

import { admissionTable } from '../admission/table.ts';
import { notificationQueues } from '../shared/job.ts';
import type { Jobs } from '../shared/ports/jobs.ts';
import { traced } from '../shared/tracing.ts';
import type { DeliveryAttempt, FanOut, ToolChange, WebhookRegistration } from './rules/jobs.ts';
import type { Channels } from './use-cases/channels.ts';
import type { Notifications } from './use-cases/notifications.ts';

const [{ atOnce: attemptsAtOnce }] = admissionTable.notificationAttempts.bounds;
const [{ atOnce: fanOutsAtOnce }] = admissionTable.notificationFanOuts.bounds;

export function workNotifications(
  jobs: Pick<Jobs, 'work'>,
  {
    notifications,
    channels,
  }: { readonly notifications: Notifications; readonly channels: Pick<Channels, 'register'> },
): void {
  jobs.work(notificationQueues.fanOut, ({ payload }) => notifications.fanOut(payload as FanOut), {
    concurrency: fanOutsAtOnce,
  });
  jobs.work(
    notificationQueues.toolChange,
    ({ payload }) => notifications.fanOutToolChange(payload as ToolChange),
    { concurrency: fanOutsAtOnce },
  );
  jobs.work(
    notificationQueues.deliver,
    ({ payload, signal }) =>
      traced(
        'deliver notification',
        () => notifications.attempt(payload as DeliveryAttempt, signal),
        'client',
      ),
    { concurrency: attemptsAtOnce },
  );
  jobs.work(notificationQueues.register, ({ payload, signal }) => {
    const { tenantId, channelId } = payload as WebhookRegistration;
    return channels.register(tenantId, channelId, signal);
  });
}
