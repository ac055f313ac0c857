// Every page of the console and every part that opens on one, with the call that fills it: what the tests of bad days
// go through, row by row.
import type { Locator, Page } from 'playwright-core';

/** The records that rows name by id, made before the tests. */
export interface RecordIds {
  readonly approval: string;
  readonly event: string;
  readonly channel: string;
}

export interface Row {
  /** Below /dashboard. */
  readonly path: string;
  /** The call that fills it. */
  readonly api: RegExp;
  /** Text on the page only once that call was answered. */
  readonly shows: (page: Page) => Locator;
  /** The button that opens it. */
  readonly opens?: string;
  /** The part that it is: the words of its failures stand there. */
  readonly in?: readonly ['dialog' | 'region', string | RegExp];
}

const main = (page: Page): Locator => page.getByRole('main');
const cell = (name: string) => (page: Page) =>
  main(page).locator('[role=table], [role=grid]').getByText(name).first();
/** In one of two tables of a page. */
const cellOf = (table: string, name: string) => (page: Page) =>
  main(page).getByRole('table', { name: table }).getByText(name).first();
const panel = (name: string | RegExp, text: string | RegExp) => (page: Page) =>
  page.getByRole('region', { name }).getByText(text).first();

export const rowsOf = ({ approval, event, channel }: RecordIds): { readonly [name: string]: Row } => ({
  Home: {
    path: '/',
    api: /\/stats\/overview/,
    shows: (page) => main(page).getByText('Pending approvals', { exact: true }),
  },
  'Home: its changes': {
    path: '/',
    api: /\/api\/v1\/deployments\?limit=10/,
    shows: panel('Recent changes', 'shop v1'),
    in: ['region', 'Recent changes'],
  },
  Approvals: {
    path: '/inbox',
    api: /\/api\/v1\/approvals\?/,
    shows: (page) => main(page).getByText('waits_long').first(),
  },
  'Approvals: history': {
    path: '/inbox?view=decided',
    api: /\/api\/v1\/approvals\?/,
    shows: cell('refund'),
  },
  'one approval of long ago': {
    path: `/approvals/${approval}`,
    api: new RegExp(`/approvals/${approval}$`),
    shows: (page) => main(page).getByText('Ask the customer for the receipt first'),
  },
  Events: { path: '/explore', api: /\/api\/v1\/events\?/, shows: cell('search_docs') },
  'Events: their counts': {
    path: '/explore',
    api: /\/events\/histogram/,
    shows: (page) => main(page).getByRole('figure', { name: /^Calls over time/ }),
    in: ['region', 'Calls over time'],
  },
  'one event': {
    path: `/events/${event}`,
    api: new RegExp(`/api/v1/events/${event}$`),
    shows: panel(/^Event /, 'Arguments'),
    in: ['region', /^Event /],
  },
  Contracts: {
    path: '/policies',
    api: /\/api\/v1\/contracts\?limit=1000&include_rules=true$/,
    shows: cell('no-secrets'),
  },
  'one contract': {
    path: '/contracts/no-secrets',
    api: /\/contracts\/no-secrets$/,
    shows: panel('Contract no-secrets', 'Edit contract'),
    in: ['region', 'Contract no-secrets'],
  },
  Compositions: {
    path: '/policies?view=compositions',
    api: /\/api\/v1\/compositions\?/,
    shows: cell('shop'),
  },
  'one composition': {
    path: '/compositions/shop',
    api: /\/compositions\/shop$/,
    shows: panel('Composition shop', 'Deploy shop'),
    in: ['region', 'Composition shop'],
  },
  Bundles: {
    path: '/policies?view=documents',
    api: /\/api\/v1\/bundles\?/,
    shows: cellOf('bundles', 'shop'),
  },
  'one bundle': {
    path: '/bundles/shop',
    api: /\/bundles\/shop\?/,
    shows: panel('Bundle shop', /^Version/),
    in: ['region', 'Bundle shop'],
  },
  'a plan to deploy': {
    path: '/bundles/shop',
    opens: 'Deploy v1',
    api: /\/bundles\/shop\/1\/yaml/,
    shows: panel(/^Change shop/, /^Identical to v1, deployed/),
    in: ['region', /^Change shop/],
  },
  'what runs before a deploy': {
    path: '/bundles/shop',
    opens: 'Deploy v1',
    api: /\/bundles\/shop\/current/,
    shows: panel(/^Change shop/, /^Identical to v1, deployed/),
    in: ['region', /^Change shop/],
  },
  'Fleet: matrix': {
    path: '/fleet',
    api: /\/fleet\/matrix/,
    shows: (page) => page.getByRole('grid', { name: 'Matrix' }).getByText('shop', { exact: true }),
  },
  Agents: { path: '/fleet?view=agents', api: /\/api\/v1\/agents\?limit=500/, shows: cell('shop-agent-0') },
  'one agent': {
    path: '/agents/shop-agent-1',
    api: /-registrations\/shop-agent-1$/,
    shows: panel(/^Agent /, /^First seen/),
    in: ['region', /^Agent /],
  },
  'Assignment rules': { path: '/fleet?view=assignment', api: /rules\?/, shows: cell('ruled-*') },
  Tools: {
    path: '/tools?view=settings',
    api: /\/api\/v1\/tool-pins\?/,
    // Admins have a choice, others a sentence.
    shows: (page) =>
      main(page)
        .getByLabel('Mode of production')
        .or(main(page).getByText('Mode of production: observe'))
        .first(),
  },
  Playground: {
    path: '/test',
    api: /\/api\/v1\/bundles\?/,
    shows: (page) => page.getByLabel('Load bundle'),
    in: ['region', 'Document'],
  },
  'Playground: calls to load': {
    path: '/test',
    api: /\/api\/v1\/events\?limit=30/,
    shows: (page) => page.getByLabel('Load reported call').filter({ hasText: 'shop-agent' }),
    in: ['region', 'Call'],
  },
  Changes: { path: '/changes', api: /\/deployments\?limit=100/, shows: cell('shop v1') },
  Runs: { path: '/runs', api: /\/v1\/runs\?limit=100/, shows: cell('sample-session') },
  'one run': {
    path: '/runs/sample-agent/sample-session',
    api: /\/v1\/events\?/,
    shows: (page) => page.getByRole('region', { name: 'History' }).getByRole('listitem').first(),
    in: ['region', 'History'],
  },
  'one run: its lanes': {
    path: '/runs/sample-agent/sample-session',
    api: /\/api\/v1\/runs\/sample-agent\/sample-session\/timeline/,
    shows: (page) => page.getByRole('region', { name: 'Timeline' }).getByText(/^\d+ calls$/),
    in: ['region', 'Timeline'],
  },
  Rulesets: {
    path: '/policies?view=documents',
    api: /\/v1\/rulesets\?/,
    shows: cellOf('rulesets', 'sample-guardrails'),
  },
  'one ruleset': {
    path: '/rulesets/sample-guardrails',
    api: /\/sample-guardrails\/versions\?/,
    shows: panel(/^Ruleset /, 'v1'),
    in: ['region', /^Ruleset /],
  },
  Audit: { path: '/audit', api: /\/v1\/audit\?limit=100/, shows: cell('ruleset deployed') },
  Keys: { path: '/admin/keys', api: /\/api\/v1\/keys\?limit=1000/, shows: cell('test') },
  Channels: { path: '/admin/channels', api: /\/channels\?/, shows: cell('On call') },
  'one channel': {
    path: `/admin/channels/${channel}`,
    api: /\/deliveries\?/,
    shows: panel(/^Channel /, /^No deliveries yet\./),
    in: ['region', /^Channel /],
  },
  'Settings: users': { path: '/admin/people', api: /\/api\/v1\/users/, shows: cell('admin@example.com') },
  'Settings: assistant': {
    path: '/admin/assistant',
    api: /\/settings\/ai$/,
    shows: (page) => page.getByRole('button', { name: 'Save assistant' }),
    in: ['region', 'Assistant'],
  },
  'Environments and their protection': {
    path: '/admin/environments',
    api: /\/api\/v1\/environments/,
    shows: (page) => page.getByLabel('Protect production'),
  },
  'Own sessions': {
    path: '/me/security',
    api: /\/auth\/sessions/,
    shows: cell('this one'),
  },
  System: {
    path: '/admin/system',
    api: /\/health\/details/,
    shows: (page) => main(page).getByText('Key-value store', { exact: true }),
  },
  'System: nodes': {
    path: '/admin/system',
    api: /\/health\/cluster/,
    shows: (page) => main(page).getByText(/256 of 256 shards owned/),
  },
  'System: course': {
    path: '/admin/system',
    api: /\/health\/series/,
    shows: (page) => page.getByRole('figure', { name: 'Lag', exact: true }),
    in: ['region', 'Last 24 hours'],
  },
  'System: figures': {
    path: '/admin/system',
    api: /\/health\/metrics/,
    shows: (page) => main(page).getByText('Metrics since start'),
  },
});

/** Each page's message to somebody who is no admin; the others have nothing of that. */
export const adminWords: { readonly [path: string]: string } = {
  '/audit': 'Only admins can verify and download the chain.',
  '/admin/keys': 'Only admins can create and revoke keys.',
  '/admin/channels': 'Only admins can change channels.',
  '/tools?view=settings': 'Mode of production: observe. Only admins can change modes.',
  '/admin/people': 'You need the role admin to change users. Ask an admin.',
  '/admin/assistant': 'Only an admin can change the assistant.',
  '/admin/system': 'Only admins can view nodes, shards and metrics.',
};
