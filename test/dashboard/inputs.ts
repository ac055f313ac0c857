// Every field of the console that takes a text, and every query bar: where it stands, and the buttons that open it.
import type { Page } from 'playwright-core';

export interface Input {
  /** Below /dashboard. */
  readonly path: string;
  /** The buttons that open it, in turn. */
  readonly opens?: readonly (string | RegExp)[];
  readonly ready?: (page: Page) => Promise<unknown>;
  /** Labels of the fields. */
  readonly labels: readonly string[];
  /** For somebody who is not signed in. */
  readonly isOutside?: true;
}

/** Ids of things that only the hub names. */
export interface InputIds {
  readonly tool: string;
  readonly channel: string;
}

const openFolds = (page: Page) =>
  page.locator('details:not([open]) > summary').evaluateAll((all) => {
    for (const one of all) (one as unknown as { click(): void }).click();
  });
const chooseType = (label: string) => (page: Page) =>
  page.getByRole('dialog').getByLabel('Type').selectOption({ label });

const channelFields: { readonly [type: string]: readonly string[] } = {
  Webhook: ['Name', 'Address', 'Secret', 'Agents', 'Contracts', 'Rulesets and rules'],
  'E-mail': ['Mail server', 'Port', 'Mail server user', 'Mail server password', 'From', 'To'],
  'Workspace chat': ['Webhook address'],
  'Workspace chat app': ['Bot token', 'Signing secret', 'Workspace channel'],
  'Community chat': ['Application public key', 'Channel ID'],
  'Chat bot': ['Chat ID', 'Callback secret'],
};

export const inputsOf = ({ tool, channel }: InputIds): { readonly [name: string]: Input } => ({
  'the range of time': { path: '/', opens: [/^Time range/], labels: ['Range'] },
  'the command menu': {
    path: '/',
    opens: [/^Search/],
    labels: ['Command: page, name or action'],
  },
  'one approval': { path: '/inbox?search=alone', labels: ['Reason'] },
  'a group of approvals': { path: '/inbox?search=together', opens: [/^Review/], labels: ['Reason'] },
  'the number of a group': {
    path: '/inbox?search=together',
    opens: [/^Review/],
    labels: ['Type 3 to approve'],
  },
  'many approvals': {
    path: '/inbox?search=together',
    ready: (page) => page.getByRole('checkbox', { name: 'Select all 3' }).check(),
    labels: ['Reason for all'],
  },
  'a saved view': { path: '/explore?q=tool:refund', opens: ['Save view'], labels: ['Name'] },
  'an agent': { path: '/agents/shop-agent-1', labels: ['Display name', 'Tags'] },
  'a rule of assignment': {
    path: '/fleet?view=assignment',
    opens: ['New rule'],
    labels: ['Agents', 'Required tags'],
  },
  'a test of assignment': { path: '/fleet?view=assignment', labels: ['Agent ID'] },
  'a search in contracts': { path: '/policies', labels: ['Search in contracts'] },
  'a contract': {
    path: '/policies',
    opens: ['New contract'],
    labels: ['ID', 'Name', 'Tags', 'Description', 'Definition as YAML'],
  },
  'a version of a contract': {
    path: '/contracts/watch-refunds',
    opens: ['Edit contract', 'Open assistant'],
    labels: ['Question for the assistant'],
  },
  'an import': { path: '/policies', opens: ['Import bundle'], labels: ['Bundle as YAML'] },
  'a composition': {
    path: '/policies?view=compositions',
    opens: ['New composition'],
    labels: ['Name', 'Description'],
  },
  'a bundle': { path: '/policies?view=documents', opens: ['Upload bundle'], labels: ['Bundle as YAML'] },
  'a ruleset': { path: '/policies?view=documents', opens: ['New ruleset'], labels: ['Ruleset as YAML'] },
  'a deployment': { path: '/changes/new?bundle=shop&version=1&env=development', labels: ['Reason'] },
  'a forced deployment': {
    path: '/changes/new?bundle=broken&version=1&env=production',
    opens: ['Deploy v1 to production'],
    labels: ['Reason', 'Type production to confirm'],
  },
  'a definition of a tool': { path: `/tools/${tool}`, labels: ['Reason'] },
  'a call to test': {
    path: '/test',
    ready: openFolds,
    labels: [
      'Tool',
      'Arguments as JSON',
      'Role',
      'User',
      'Service',
      'Organization',
      'Ticket',
      'Claims as JSON',
      'Metadata as JSON',
    ].concat([...['Folder', 'Tool result', 'Attempts', 'Calls', 'Calls of this tool', 'Bundle as YAML']]),
  },
  'a case to test': { path: '/test', labels: ['Case name'] },
  'values of a session': { path: '/runs/sample-agent/sample-session', labels: ['Value key'] },
  'the download of a run': { path: '/evidence', labels: ['Agent', 'Session'] },
  'a key to pin': { path: '/evidence', ready: openFolds, labels: ['Public key to pin'] },
  'the word of a new signing key': {
    path: '/evidence',
    opens: ['Rotate signing key'],
    labels: ['Type rotate to confirm'],
  },
  'an API key': { path: '/admin/keys', opens: ['Create key'], labels: ['Label', 'Agent pattern'] },
  ...Object.fromEntries(
    Object.entries(channelFields).map(([type, labels]) => [
      `a channel: ${type}`,
      { path: '/admin/channels', opens: ['Add channel'], ready: chooseType(type), labels },
    ]),
  ),
  'one channel': { path: `/admin/channels/${channel}`, labels: ['Name', 'Bot token'] },
  'a user': { path: '/admin/people', opens: ['Add user'], labels: ['E-mail', 'Initial password'] },
  'a service account': { path: '/admin/service-accounts', opens: ['Add service account'], labels: ['Name'] },
  'a token': { path: '/admin/service-accounts', opens: ['Tokens of pipeline'], labels: ['Label'] },
  'the assistant': {
    path: '/admin/assistant',
    ready: (page) => page.getByLabel('Provider', { exact: true }).selectOption('local'),
    labels: ['Model', 'Provider API key', 'Base URL'],
  },
  'the word of a purge': {
    path: '/admin/retention',
    opens: ['Purge events'],
    labels: ['Type purge to confirm'],
  },
  'the own password': { path: '/me/security', labels: ['Current password', 'New password'] },
  'a sign-in': { path: '/', labels: ['E-mail', 'Password'], isOutside: true },
  'an invitation': {
    path: `/#invite=${'a'.repeat(43)}`,
    labels: ['Password'],
    isOutside: true,
  },
});

/** Pages with a query bar. */
export const queryPages = [
  ...['/inbox', '/inbox?view=decided', '/explore', '/explore?view=tail', '/fleet?view=agents', '/runs'],
  '/audit',
] as const;
