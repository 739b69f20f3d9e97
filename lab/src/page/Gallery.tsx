// The gallery: choose an experiment, read what it shows, and what to find out.
import { EXPERIMENTS } from "../gallery/experiments";
import { openExperiment, openOwn, ownScenario } from "../link/keeping";
import { experiment } from "../state/lab";
import { Controls } from "./Controls";

const OWN = "own";

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
