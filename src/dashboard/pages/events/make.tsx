// The form for a new contract, with the tool and the arguments of an event filled in.
import { useNavigate } from '@tanstack/react-router';
import { type JSX, lazy, Suspense, useState } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { say } from '../../ui/messages.tsx';
import { Skeleton } from '../../ui/parts.tsx';

const DraftForm = lazy(() => import('./draft.tsx'));

export function MakeContract({ event }: { readonly event: Reply<'getEvent'> }): JSX.Element {
  const [open, setOpen] = useState(false);
  const navigate = useNavigate();
  return (
    <>
      <ActButton operation="createContract" icon="plus" onClick={() => setOpen(true)}>
        Create contract from event
      </ActButton>
      <Dialog title="New contract" shape="wide" open={open} onClose={() => setOpen(false)}>
        <Suspense fallback={<Skeleton rows={8} />}>
          {open && (
            <DraftForm
              event={event}
              onClose={() => setOpen(false)}
              onDone={(id) => {
                say(`${id} added. To send it to agents, add it to a composition.`, 'allow');
                void navigate({ ...linkTo.contract(id) });
              }}
            />
          )}
        </Suspense>
      </Dialog>
    </>
  );
}
