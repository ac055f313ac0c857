// Saved views of a page with a query: a menu of the own and the shared queries, and a dialog that saves the present
// one.
import { Menu } from '@base-ui/react/menu';
import { type JSX, useState } from 'react';
import type { Reply } from '../lib/api.ts';
import { missingRole } from '../lib/may.ts';
import { useSignedIn } from '../lib/me.ts';
import type { PageQuery } from '../lib/page-query.ts';
import { useAction, useCall, useIsAnswered } from '../lib/query.ts';
import { visible } from '../lib/text.ts';
import { ActButton } from './act-button.tsx';
import { Dialog } from './dialog.tsx';
import { Check, Field, Form } from './form.tsx';
import { Icon } from './icons.tsx';
import { MenuPopup } from './menu.tsx';
import { say } from './messages.tsx';
import { Button } from './parts.tsx';
import { Failed } from './query-result.tsx';

type View = Reply<'listViews'>[number];

export function SavedViews({
  page,
  query: { text, problem, change },
}: Readonly<{ page: string; query: PageQuery }>): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  // A browser has six connections to a hub, and the rows, their counts and their markers come first.
  const enabled = useIsAnswered();
  const viewsQuery = useCall('listViews', {}, { enabled });
  const views = (viewsQuery.data ?? []).filter((view) => view.page === page);
  return (
    <>
      {views.length > 0 && <ViewMenu views={views} onQuery={change} />}
      <Button
        kind="quiet"
        icon="star"
        aria-label="Save view"
        title="Save view"
        disabled={text === '' || problem !== null}
        onClick={() => setOpen(true)}
      />
      <Dialog title="Save view" open={isOpen} onClose={() => setOpen(false)}>
        {isOpen && <ViewForm page={page} query={text} onDone={() => setOpen(false)} />}
        {isOpen && <OwnViews views={views.filter(({ own }) => own)} />}
      </Dialog>
    </>
  );
}

function ViewMenu({
  views,
  onQuery,
}: Readonly<{ views: readonly View[]; onQuery: (text: string) => void }>): JSX.Element {
  return (
    <Menu.Root>
      <Menu.Trigger className="button button-quiet">
        <Icon name="down" /> Views
      </Menu.Trigger>
      <MenuPopup>
        {views.map(({ id, name, query, shared }) => (
          <Menu.Item key={id} className="menu-item row" onClick={() => onQuery(query)}>
            {visible(name)}
            {shared && <span className="tag">shared</span>}
          </Menu.Item>
        ))}
      </MenuPopup>
    </Menu.Root>
  );
}

function ViewForm({
  page,
  query,
  onDone,
}: Readonly<{ page: string; query: string; onDone: () => void }>): JSX.Element {
  const [name, setName] = useState('');
  const [isShared, setShared] = useState(false);
  const create = useAction('createView', ['listViews']);
  const cannotShare = missingRole(useSignedIn().roles, 'operator');
  return (
    <Form
      by={create}
      act="Save view"
      isOff={name.trim() === ''}
      onSubmit={() =>
        create.mutate({ body: { page, name, query, shared: isShared } }, () => {
          say(`The view ${name} is saved.`, 'allow');
          onDone();
        })
      }
    >
      <Field name="name" label="Name" value={name} onValue={setName} required maxLength={80} />
      <Check
        checked={isShared}
        disabled={cannotShare !== null}
        title={cannotShare ?? undefined}
        onChange={(event) => setShared(event.target.checked)}
      >
        Shared with everybody
      </Check>
    </Form>
  );
}

function OwnViews({ views }: { readonly views: readonly View[] }): JSX.Element | null {
  const remove = useAction('deleteView', ['listViews']);
  if (views.length === 0) return null;
  return (
    <section aria-label="Own views">
      <h3>Own views</h3>
      <ul>
        {views.map(({ id, name }) => (
          <li key={id}>
            {visible(name)}{' '}
            <ActButton
              operation="deleteView"
              kind="quiet"
              aria-label={`Delete view ${visible(name)}`}
              onClick={() => remove.mutate({ params: { view_id: id } })}
            >
              Delete
            </ActButton>
          </li>
        ))}
      </ul>
      {remove.error && <Failed error={remove.error} />}
    </section>
  );
}
