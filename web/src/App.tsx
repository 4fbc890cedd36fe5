// The views and their addresses.
import { Link, Redirect, Route, Switch } from "wouter";
import { Shell } from "./components/Shell";
import { Empty } from "./components/Told";
import { useStream } from "./live/useStream";
import { DatasetView } from "./views/details/DatasetView";
import { JobView } from "./views/details/JobView";
import { RunView } from "./views/details/RunView";
import { Impact } from "./views/impact/Impact";
import { Lineage } from "./views/lineage/Lineage";
import { Pipelines } from "./views/pipelines/Pipelines";
import { Tables } from "./views/pipelines/Tables";
import { Topics } from "./views/pipelines/Topics";
import { TopicView } from "./views/pipelines/TopicView";
import { Records } from "./views/records/Records";
import { Why } from "./views/records/Why";
import { Datasets } from "./views/tables/Datasets";
import { Events } from "./views/tables/Events";
import { Jobs } from "./views/tables/Jobs";
import { Runs } from "./views/tables/Runs";

export function App() {
  useStream();
  return (
    <Shell>
      <Switch>
        <Route path="/">
          <Redirect to={`/lineage${window.location.search}`} replace />
        </Route>
        <Route path="/lineage" component={Lineage} />
        <Route path="/jobs" component={Jobs} />
        <Route path="/jobs/view" component={JobView} />
        <Route path="/datasets" component={Datasets} />
        <Route path="/datasets/view" component={DatasetView} />
        <Route path="/runs" component={Runs} />
        <Route path="/runs/view" component={RunView} />
        <Route path="/events" component={Events} />
        <Route path="/pipelines" component={Pipelines} />
        <Route path="/pipelines/topics" component={Topics} />
        <Route path="/pipelines/tables" component={Tables} />
        <Route path="/pipelines/topic" component={TopicView} />
        <Route path="/impact" component={Impact} />
        <Route path="/records" component={Records} />
        <Route path="/why" component={Why} />
        <Route>
          <h1 className="hidden">Page not found</h1>
          <Empty title="Page not found">
            <p>
              <Link href="/lineage">Go to the graph</Link>
            </p>
          </Empty>
        </Route>
      </Switch>
    </Shell>
  );
}
