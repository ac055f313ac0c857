// Writing contracts: what the editor offers and explains, versions compared and taken up again, bundles brought in as
// files, and a session that ends while somebody writes.
import type { Locator, Page } from 'playwright-core';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { beforeAll, describe, expect, it } from 'vitest';
import { Markdown } from '../../src/dashboard/ui/markdown.tsx';
import { explained, offeredAt } from '../../src/dashboard/ui/rule-words.ts';
import { itAtNight } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie } = await tenantOfFile();

beforeAll(async () => {
  await hub.call('POST', '/api/v1/contracts/import', { cookie, body: { yaml_content: library } });
  const { key } = await hub.key(cookie);
  const events = [{ call_id: '1', tool_name: 'wire_transfer', verdict: 'call_allowed' }];
  expect((await hub.call('POST', '/api/v1/events', { key, agent: 'seen', body: { events } })).status).toBe(
    200,
  );
});

/** Types in place of all that the editor holds. A dialog that has just opened may still take the focus elsewhere. */
async function typeAnew(page: Page, form: Locator, text: string): Promise<void> {
  const line = form.locator('.cm-line').filter({ hasText: text });
  await expect
    .poll(async () => {
      await form.getByRole('textbox', { name: 'Definition as YAML' }).focus();
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.press('Delete');
      await page.keyboard.type(text);
      return line.count();
    })
    .toBe(1);
}

/** The choice, once the editor offers it: a list that closed when the page learned something is asked for again. */
async function offers(form: Locator, option: RegExp): Promise<Locator> {
  const offered = form.getByRole('option', { name: option });
  await expect
    .poll(async () => {
      if ((await offered.count()) > 0) return true;
      await form.getByRole('textbox', { name: 'Definition as YAML' }).press('Control+Space');
      return false;
    })
    .toBe(true);
  return offered;
}

/** Takes what the editor offers, until its line stands there: a list that is just asked for anew takes no press. */
async function take(form: Locator, option: RegExp, line: string): Promise<void> {
  const offered = await offers(form, option);
  await expect
    .poll(async () => {
      if (await offered.isVisible()) await offered.click({ timeout: 1_000 }).catch(() => undefined);
      return form.locator('.cm-line').filter({ hasText: line }).count();
    })
    .toBe(1);
}

/** Script of the page: each letter in a task of its own, in turn with the tasks that render the page. */
const typeBetweenTasks = `(async () => {
  const content = document.querySelector('.dialog .editor').shadowRoot.querySelector('.cm-content');
  const editor = content.cmTile.view;
  const { port1, port2 } = new MessageChannel();
  for (const letter of '# ' + 'abcdefghij'.repeat(20)) {
    editor.dispatch(editor.state.replaceSelection(letter), { userEvent: 'input.type' });
    await new Promise((done) => { port1.onmessage = done; port2.postMessage(0); });
  }
})()`;

describe('the form of a contract', () => {
  it('offers what fits the place, tools that agents called, and explains a word under the pointer', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/policies');
    await page.getByRole('button', { name: 'New contract' }).click();
    const form = page.getByRole('dialog', { name: 'New contract' });
    await typeAnew(page, form, 'tool: wi');
    await take(form, /wire_transfer/, 'tool: wire_transfer');
    // The text in between is inserted at once: a list that is open would take its line ends.
    await page.keyboard.insertText('\nthen:\n  effect: ');
    await page.keyboard.type('ap');
    await offers(form, /approve/);
    await expect.poll(() => form.locator('.cm-tooltip-autocomplete').getByRole('option').count()).toBe(1);
    await take(form, /approve/, 'effect: approve');
    const word = form.locator('.cm-line').filter({ hasText: 'effect: approve' }).getByText('effect');
    const explained = form.getByText(/^deny denies the call, approve requires approval/);
    // The message about a word goes when the text is looked at anew; it comes where the pointer rests.
    await expect
      .poll(async () => {
        await word.hover();
        return explained.waitFor({ timeout: 2_000 }).then(
          () => true,
          () => false,
        );
      })
      .toBe(true);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('offers tools that the hub tells of only after one was begun', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/api/v1/events/facets*', async (route) => {
      await released;
      await route.continue();
    });
    await page.goto('/dashboard/policies');
    await page.getByRole('button', { name: 'New contract' }).click();
    const form = page.getByRole('dialog', { name: 'New contract' });
    await typeAnew(page, form, 'tool: wi');
    release();
    await take(form, /wire_transfer/, 'tool: wire_transfer');
    noFaults(visit);
    await visit.context.close();
  });

  it('loses no letter of fast typing, and keeps focus and list while the page learns of changes', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/policies');
    await page.locator('.live-live').waitFor();
    await page.getByRole('button', { name: 'New contract' }).click();
    const form = page.getByRole('dialog', { name: 'New contract' });
    await form.getByRole('textbox', { name: 'Definition as YAML' }).focus();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.press('Delete');
    // Letters that come between a render of the form and its effects, as on a busy machine.
    await page.evaluate(typeBetweenTasks);
    await expect.poll(() => form.locator('.cm-content').textContent()).toBe(`# ${'abcdefghij'.repeat(20)}`);
    await page.keyboard.insertText('\ntool: ');
    await page.keyboard.type('wi');
    await offers(form, /wire_transfer/);
    // A frame for a contract and one for an event; the list behind the dialog has the new contract then.
    const definition = {
      tool: 'x',
      when: { 'args.a': { equals: 1 } },
      then: { effect: 'deny', message: 'No' },
    };
    const body = { contract_id: 'from-another', name: 'From another', type: 'pre', definition };
    expect((await hub.call('POST', '/api/v1/contracts', { cookie, body })).status).toBe(201);
    const { key } = await hub.key(cookie);
    const events = [{ call_id: '2', tool_name: 'wire_later', verdict: 'call_allowed' }];
    await hub.call('POST', '/api/v1/events', { key, agent: 'seen', body: { events } });
    await page
      .getByRole('table', { includeHidden: true })
      .getByText('from-another')
      .waitFor({ state: 'attached' });
    await expect.poll(() => form.getByRole('option', { name: /wire_transfer/ }).count()).toBe(1);
    await page.keyboard.type('re_t');
    await form.locator('.cm-line').filter({ hasText: 'tool: wire_t' }).waitFor();
    await form.getByRole('option', { name: /wire_transfer/ }).waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight(
    'keeps everything that was typed while the session ends, in each field, and saves it then',
    async () => {
      const own = await hub.login();
      const visit = await view(hub.url, { cookie: own });
      const { page } = visit;
      await page.goto('/dashboard/policies');
      await page.getByRole('button', { name: 'New contract' }).click();
      const form = page.getByRole('dialog', { name: 'New contract' });
      await form.getByLabel('ID', { exact: true }).fill('typed-before');
      await form.getByLabel('Name').fill('Typed before');
      await form.getByLabel('Tags').fill('one, two');
      await form.getByLabel('Description').fill('All of this stays');
      await form.locator('.cm-content').click();
      await page.keyboard.press('Control+End');
      await page.keyboard.type('# so does this');
      await hub.call('POST', '/api/v1/auth/logout', { cookie: own });
      const again = page.getByRole('dialog', { name: 'Sign in again' });
      await again.getByLabel('Password').fill('correct horse battery');
      await again.getByRole('button', { name: 'Sign in' }).click();
      await again.waitFor({ state: 'hidden' });
      expect(await form.getByLabel('Tags').inputValue()).toBe('one, two');
      await form.locator('.cm-line').filter({ hasText: '# so does this' }).waitFor();
      await form.getByRole('button', { name: 'Add contract' }).click();
      await page.getByRole('region', { name: 'Contract typed-before' }).waitFor();
      const { body } = await hub.call('GET', '/api/v1/contracts/typed-before', { cookie });
      expect(body).toMatchObject({
        name: 'Typed before',
        description: 'All of this stays',
        tags: ['one', 'two'],
      });
      noFaults(visit);
      await visit.context.close();
    },
  );
});

describe('versions of a contract', () => {
  itAtNight('compares any two, and takes an older one up again', async () => {
    for (const message of ['Second', 'Third']) {
      const definition = {
        tool: 'refund',
        when: { 'args.amount': { gt: 900 } },
        then: { effect: 'deny', message },
      };
      const answer = await hub.call('PUT', '/api/v1/contracts/watch-refunds', {
        cookie,
        body: { name: 'watch-refunds', definition },
      });
      expect(answer.status).toBe(200);
    }
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/contracts/watch-refunds');
    const panel = page.getByRole('region', { name: 'Contract watch-refunds' });
    const changed = panel.getByRole('region', { name: 'Changes' });
    await changed.getByText('From v2 to v3').waitFor();
    await expect.poll(() => changed.locator('.diff-word').allTextContents()).toEqual(['Second', 'Third']);
    await changed.getByLabel('Changes up to').selectOption('2');
    await changed.getByText('From v3 to v2').or(changed.getByText('From v1 to v2')).waitFor();
    await changed.getByRole('button', { name: 'Compare with v1' }).click();
    await changed.getByText('From v1 to v2').waitFor();
    await changed.getByText('Second').waitFor();
    await accessible(page);
    await changed.getByRole('button', { name: 'Edit copy of v1' }).click();
    await panel.getByRole('textbox', { name: 'Definition as YAML' }).getByText('is large').waitFor();
    await panel.getByRole('button', { name: 'Save as new version' }).click();
    await panel.getByText(/version 4,/).waitFor();
    const { body } = await hub.call('GET', '/api/v1/contracts/watch-refunds', { cookie });
    expect(body.definition.then.message).toBe('A refund of {args.amount} is large');
    noFaults(visit);
    await visit.context.close();
  });
});

describe('a bundle that is brought in', () => {
  itAtNight('comes from a file, is checked while it is read, and is taken apart', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/policies');
    await page.getByRole('button', { name: 'Import bundle' }).click();
    const dialog = page.getByRole('dialog', { name: 'Import bundle' });
    const choose = (text: string) =>
      dialog
        .getByLabel('YAML file')
        .setInputFiles({ name: 'a.yaml', mimeType: 'text/yaml', buffer: Buffer.from(text) });
    await choose(library.replace('effect: approve', 'effect: maybe'));
    await dialog
      .getByText(/^Error in line \d+/)
      .first()
      .waitFor();
    expect(await dialog.getByRole('button', { name: 'Import bundle' }).isDisabled()).toBe(true);
    await accessible(page);
    await choose('x'.repeat(1_048_577));
    await dialog
      .getByRole('alert')
      .getByText(/too large/)
      .waitFor();
    await choose(
      library.replaceAll(/- id: (\S+)/g, '- id: file-$1').replace('name: shop', 'name: from-a-file'),
    );
    await dialog.getByRole('button', { name: 'Import bundle' }).click();
    await page.getByText('Import complete: 3 contracts added, no contracts updated.').waitFor();
    await page.getByRole('table').getByRole('link', { name: 'file-no-secrets' }).waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});

describe('words of the rule language', () => {
  const offered = (text: string): string[] => offeredAt(text, ['a_tool']).map(({ word }) => word);

  it('are offered where they may stand', () => {
    expect(offered('tool: ')).toEqual(['a_tool']);
    expect(offered('tools: [a, ')).toEqual(['a_tool']);
    expect(offered('message: [de')).toEqual([]);
    expect(offered('when:\n  args.path:\n    ')).toContain('contains_any');
    expect(offered('when:\n  args.path: { co')).toContain('contains');
    expect(offered('when:\n  all:\n    - ar')).toEqual(expect.arrayContaining(['args.', 'not']));
    expect(offered('then:\n  effect: ')).toEqual(['deny', 'approve', 'warn', 'redact']);
    expect(offered('then: { effect: deny, me')).toContain('message');
    expect(offered('contracts:\n  - id: one\n    ty')).toContain('type');
    expect(offered('defaults:\n  ')).toEqual(['mode']);
    expect(offered('then:\n  message: "de')).toEqual([]);
    expect(offered('# tool: ')).toEqual([]);
    expect(offered('wh')).toEqual(expect.arrayContaining(['when', 'contracts']));
  });

  it('are explained as they stand', () => {
    expect(explained('args.path')?.explanation).toMatch(/argument of the call/);
    expect(explained('principal.role')?.explanation).toMatch(/role/);
    expect(explained('nonsense')).toBeUndefined();
  });
});

describe('the Markdown of a model', () => {
  it('is read while it comes, and nothing of it is lost or made into more', () => {
    const shown = (text: string): string =>
      renderToStaticMarkup(createElement(Markdown, { text })).replaceAll(
        / (class|tabindex)="[^"]*"|<\/?bdi[^>]*>/g,
        '',
      );
    expect(shown('a\n```yaml\nb: 1')).toBe('<div><p>a</p><pre>b: 1</pre></div>');
    expect(shown('2 * 3 * 4 and **')).toBe('<div><p>2 * 3 * 4 and **</p></div>');
    expect(shown('1. one\n2. two\n- **three**')).toBe(
      '<div><ol><li>one</li><li>two</li></ol><ul><li><strong>three</strong></li></ul></div>',
    );
    expect(shown('# `x`\n\n[a](https://b.example) ![c](d.png) <https://e.example>')).toBe(
      '<div><p><code>x</code></p><p>[a](https://b.example) ![c](d.png) &lt;https://e.example&gt;</p></div>',
    );
    expect(shown('<img src=x onerror=alert(1)>')).toBe(
      '<div><p>&lt;img src=x onerror=alert(1)&gt;</p></div>',
    );
  });
});
