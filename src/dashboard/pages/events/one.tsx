// The page of one event.
import './events.css';
import type { JSX } from 'react';
import { ThingPage, useIds } from '../../ui/thing-page.tsx';
import { EventDetail } from './detail.tsx';

export default function EventPage(): JSX.Element {
  const { id } = useIds('id');
  return (
    <ThingPage kind="Event" name={id} back={{ to: '/explore', label: 'View all events' }}>
      <EventDetail key={id} id={id} />
    </ThingPage>
  );
}
