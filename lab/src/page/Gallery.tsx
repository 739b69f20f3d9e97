// The gallery: choose an experiment, read what it shows, and what to find out.
import { EXPERIMENTS } from "../gallery/experiments";
import { experiment, open } from "../state/lab";
import { Controls } from "./Controls";

export function Gallery() {
  const chosen = experiment.value;
  return (
    <section class="gallery" aria-label="Experiment">
      <label for="experiment" class="visually-hidden">
        Experiment
      </label>
      <select
        id="experiment"
        class="wide"
        data-id={chosen?.id}
        value={chosen?.id ?? ""}
        onChange={(event) => {
          const next = EXPERIMENTS.find(({ id }) => id === event.currentTarget.value);
          if (next) open(next);
        }}
      >
        {!chosen && <option value="">Your own scenario</option>}
        {EXPERIMENTS.map(({ id, title }) => (
          <option key={id} value={id}>
            {title}
          </option>
        ))}
      </select>
      {chosen && <p>{chosen.sentences.join(" ")}</p>}
      <Controls />
      {chosen && (
        <>
          <h2>Find out</h2>
          <ol>
            {chosen.questions.map((question) => (
              <li key={question}>{question}</li>
            ))}
          </ol>
        </>
      )}
    </section>
  );
}
