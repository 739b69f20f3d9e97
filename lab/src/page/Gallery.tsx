// The gallery: choose an experiment, read what it shows, and what to find out.
import { EXPERIMENTS } from "../gallery/experiments";
import { Lesson } from "../lesson/Lesson";
import { onStep } from "../lesson/lesson";
import { openExperiment, openOwn, ownScenario } from "../link/keeping";
import { experiment } from "../state/lab";
import { Controls } from "./Controls";

const OWN = "own";

export function Gallery() {
  const chosen = experiment.value;
  // A step of the lesson has words and a question of its own.
  const described = onStep.value ? undefined : chosen;
  return (
    <section class="gallery" aria-label="Experiment">
      <Lesson />
      <label for="experiment" class="visually-hidden">
        Experiment
      </label>
      <select
        id="experiment"
        class="wide"
        data-id={chosen?.id}
        value={chosen?.id ?? OWN}
        onChange={(event) => {
          const id = event.currentTarget.value;
          const next = EXPERIMENTS.find((one) => one.id === id);
          if (next) openExperiment(next);
          else if (id === OWN) openOwn();
        }}
      >
        {(!chosen || ownScenario.value) && <option value={OWN}>Your own scenario</option>}
        {EXPERIMENTS.map(({ id, title }) => (
          <option key={id} value={id}>
            {title}
          </option>
        ))}
      </select>
      {described && <p>{described.sentences.join(" ")}</p>}
      <Controls />
      {described && (
        <>
          <h2>Find out</h2>
          <ol>
            {described.questions.map((question) => (
              <li key={question}>{question}</li>
            ))}
          </ol>
        </>
      )}
    </section>
  );
}
