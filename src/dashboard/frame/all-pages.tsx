// The list of all pages, on screens without room for the navigation rail.
import type { JSX } from 'react';
import { workspaces } from '../pages/registry.ts';
import { Dialog } from '../ui/dialog.tsx';
import type { LateProps } from './late.tsx';
import { WorkspaceLinks } from './shell.tsx';

export default function AllPages({ open, onClose }: LateProps): JSX.Element {
  return (
    <Dialog title="All pages" open={open} onClose={onClose}>
      <nav aria-label="All pages">
        {workspaces.map((workspace) => (
          <WorkspaceLinks key={workspace} workspace={workspace} onGo={onClose} />
        ))}
      </nav>
    </Dialog>
  );
}
