// The forms of the console: where each stands, what is typed into it, what sends it, and what is there once it is done.
import type { Locator, Page } from 'playwright-core';

export const first = 'correct horse battery';
export const second = 'another horse battery';

export interface Form {
  readonly path: string;
  /** The button that opens it, where it does not stand on the page. */
  readonly opens?: string;
  /** The dialog or region that it stands in. */
  readonly in?: readonly ['dialog' | 'region' | 'article', string | RegExp];
  /** Text to type, by the label of the field. */
  readonly fields?: { readonly [label: string]: string };
  /** Text added to the document in its editor, as one line. */
  readonly document?: string;
  readonly press: string | RegExp;
  /** Changes nothing: what it asks for is asked for again by itself. */
  readonly reads?: true;
  /** Text on the page only once it is done. */
  readonly done: (page: Page) => Locator;
  readonly ready?: (page: Page, form: Locator) => Promise<void>;
}

const text = (says: string | RegExp) => (page: Page) => page.getByText(says).first();
const heading = (name: string) => (page: Page) => page.getByRole('heading', { name, exact: true });

export const forms: { readonly [name: string]: Form } = {
  'a key': {
    path: '/admin/keys',
    opens: 'Create key',
    in: ['dialog', 'Create key'],
    fields: { Label: 'typed before', 'Agent pattern': 'shop-*', 'Expires after days': '3' },
    press: 'Create key',
    done: text(/^svk_production_[^…]*$/),
  },
  'a new channel': {
    path: '/admin/channels',
    opens: 'Add channel',
    in: ['dialog', 'Add channel'],
    fields: {
      Name: 'typed before',
      Address: 'https://127.0.0.1/hook',
      Secret: 'typed too',
      Agents: 'shop-*',
    },
    press: 'Add channel',
    done: heading('Channel typed before'),
  },
  'a channel that is changed': {
    path: '/admin/channels/',
    in: ['region', /^Channel /],
    fields: { Name: 'changed before', Secret: 'a new secret' },
    press: 'Save channel',
    done: heading('Channel changed before'),
  },
  'a composition': {
    path: '/policies?view=compositions',
    opens: 'New composition',
    in: ['dialog', 'New composition'],
    fields: { Name: 'typed-before', Description: 'All of this stays' },
    press: 'Create composition',
    done: text('typed-before created.'),
  },
  'a bundle': {
    path: '/policies?view=documents',
    opens: 'Upload bundle',
    in: ['dialog', 'Upload bundle'],
    document: '# typed into a bundle',
    press: 'Upload bundle',
    done: text(/ v1 uploaded\./),
  },
  'a contract': {
    path: '/policies',
    opens: 'New contract',
    in: ['dialog', 'New contract'],
    fields: { ID: 'typed-before', Name: 'Typed before', Tags: 'one, two', Description: 'All of this stays' },
    document: '# typed into a contract',
    press: 'Add contract',
    done: (page) => page.getByRole('region', { name: 'Contract typed-before' }),
  },
  'a next version of a contract': {
    path: '/contracts/watch-refunds',
    opens: 'Edit contract',
    in: ['region', 'Contract watch-refunds'],
    fields: { Description: 'Changed before' },
    document: '# typed into a version',
    press: 'Save as new version',
    done: text(/version 2,/),
  },
  'an import': {
    path: '/policies',
    opens: 'Import bundle',
    in: ['dialog', 'Import bundle'],
    document: '# typed into an import',
    press: 'Import bundle',
    done: text(/contracts? added/),
  },
  'a rule of assignment': {
    path: '/fleet?view=assignment',
    opens: 'New rule',
    in: ['dialog', 'New rule'],
    fields: { Agents: 'typed-*', 'Required tags': 'tier=gold', Priority: '7' },
    press: 'Add rule',
    done: (page) => page.getByRole('table').getByText('tier=gold'),
  },
  'an agent': {
    path: '/agents/shop-agent',
    in: ['region', /^Agent /],
    fields: { 'Display name': 'Typed before', Tags: 'tier=silver' },
    press: 'Save agent',
    done: text('Agent saved.'),
  },
  'the question which bundle an agent gets': {
    path: '/fleet?view=assignment',
    fields: { 'Agent ID': 'asked-agent' },
    press: 'Check assignment',
    reads: true,
    done: text(/no assignment/),
  },
  'a ruleset': {
    path: '/policies?view=documents',
    opens: 'New ruleset',
    in: ['dialog', 'New ruleset'],
    document: '# typed into a ruleset',
    press: 'Save ruleset',
    done: text(/^v\d saved/),
  },
  'a ruleset that is forced': {
    path: '/policies?view=documents',
    opens: 'New ruleset',
    in: ['dialog', 'New ruleset'],
    // Its form is there once the document was refused.
    ready: async (page, form) => {
      await form.locator('.cm-content').click();
      await page.keyboard.press('ControlOrMeta+End');
      await page.keyboard.insertText(
        '\n  - {id: broken, type: pre, tool: refund, when: {argz.path: {equals: 1}}, then: {action: block, message: no}}',
      );
      await form.getByRole('button', { name: 'Save ruleset' }).press('Enter');
      await form.getByLabel('Reason').waitFor();
    },
    fields: { Reason: 'it must be' },
    press: 'Save despite errors',
    done: text(/^v\d saved/),
  },
  'a question to the assistant': {
    path: '/contracts/watch-refunds',
    opens: 'Edit contract',
    in: ['region', 'Contract watch-refunds'],
    ready: (_, form) => form.getByRole('button', { name: 'Open assistant' }).click(),
    fields: { 'Question for the assistant': 'What was typed before?' },
    press: 'Send question',
    done: text('This is the answer.'),
  },
  'a value of a session': {
    path: '/runs/sample-agent/sample-session',
    fields: { 'Value key': 'typed-key' },
    press: 'Find value',
    reads: true,
    done: text('No value found for the key'),
  },
  'many decisions': {
    path: '/inbox?search=together_',
    in: ['region', 'Bulk decision'],
    fields: { 'Reason for all': 'looked at all' },
    press: 'Deny 2',
    done: text('2 calls denied.'),
    ready: (page) => page.getByRole('checkbox', { name: 'Select all 2' }).check(),
  },
  'one decision': {
    path: '/inbox?search=alone_',
    in: ['article', /^Approval of alone_/],
    fields: { Reason: 'looked at it' },
    press: /^Approve/,
    done: text('Approved by admin@example.com'),
  },
  'a forced deployment': {
    path: '/bundles/broken',
    opens: 'Deploy v1',
    in: ['region', /^(Change|Deployment of) broken/],
    fields: { Reason: 'it must be', 'Type production to confirm': 'production' },
    press: 'Force deploy to production',
    done: text(/broken v1 is deployed to production/),
    ready: (_, form) => form.getByRole('button', { name: 'Deploy v1 to production' }).click(),
  },
  'a user': {
    path: '/admin/people',
    opens: 'Add user',
    in: ['dialog', 'Add user'],
    fields: { 'E-mail': 'typed@example.com', 'Initial password': 'typed horse battery' },
    press: 'Add user',
    done: text('User typed@example.com added.'),
  },
  'the assistant': {
    path: '/admin/assistant',
    in: ['region', 'Assistant'],
    fields: { Model: 'a-model', 'Provider API key': 'typed-key-of-a-provider' },
    press: 'Save assistant',
    done: text('Assistant saved.'),
  },
  'a new signing key': {
    path: '/evidence',
    opens: 'Rotate signing key',
    in: ['dialog', 'Rotate signing key'],
    fields: { 'Type rotate to confirm': 'rotate' },
    press: 'Rotate signing key',
    done: text(/signed with the new key/),
  },
  'a purge': {
    path: '/admin/retention',
    opens: 'Purge events',
    in: ['dialog', 'Purge events'],
    fields: { 'Type purge to confirm': 'purge' },
    press: 'Purge events',
    done: text(/^no events removed/),
  },
  // Last: the next sign-in is with the new one.
  'the own password': {
    path: '/me/security',
    in: ['region', 'Your password'],
    fields: { 'Current password': first, 'New password': second },
    press: 'Change password',
    done: text('Password changed.'),
  },
};
