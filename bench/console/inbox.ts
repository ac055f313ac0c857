// The Inbox with thousands of approvals that wait: frames while it scrolls.
import type { Page } from 'playwright-core';
import { approvalsOfAgent } from '../suite/approver.ts';
import { HttpCaller } from '../suite/http-call.ts';
import type { Hub } from '../suite/hub.ts';

/** Approvals that wait. */
export const waitingApprovals = 5_000;
const connections = 16;
const tools = ['refund', 'deploy', 'send_mail', 'run_sql', 'delete_file', 'transfer', 'restart', 'export'];

/** Requests the approvals: of eight tools, each agent as many as the hub takes in a minute. */
export async function requestApprovals({ url }: Pick<Hub, 'url'>, key: string): Promise<void> {
  const caller = new HttpCaller(url, connections);
  let next = 0;
  const request = async (): Promise<void> => {
    for (let n = next++; n < waitingApprovals; n = next++) {
      await caller.call({
        method: 'POST',
        path: '/api/v1/approvals',
        headers: {
          Authorization: `Bearer ${key}`,
          'Content-Type': 'application/json',
          'X-Service-Agent-Id': `waiting-${Math.floor(n / approvalsOfAgent)}`,
        },
        body: JSON.stringify({
          tool_name: tools[n % tools.length],
          tool_args: { order: `A-${n}`, amount: 100 + n, currency: 'EUR' },
          message: 'May I?',
          timeout: 3_600,
        }),
      });
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, request));
  } finally {
    caller.close();
  }
}

/** The page of the Inbox, once it counts all that wait. */
export async function openInbox(page: Page): Promise<void> {
  await page.goto('/dashboard/inbox');
  await page
    .getByText(`${waitingApprovals.toLocaleString('en')} pending calls.`)
    .waitFor({ timeout: 60_000 });
}
