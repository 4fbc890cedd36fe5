// The views and their addresses.
import { Link, Redirect, Route, Switch } from "wouter";
import { Shell } from "./components/Shell";
import { Empty } from "./components/Told";
import { Lineage } from "./views/lineage/Lineage";

export function App() {
  return (
    <Shell>
      <Switch>
        <Route path="/">
          <Redirect to={`/lineage${window.location.search}`} replace />
        </Route>
        <Route path="/lineage" component={Lineage} />
        <Route>
          <Empty title="There is nothing at this address">
            <p>
              <Link href="/lineage">To the graph</Link>
            </p>
          </Empty>
        </Route>
      </Switch>
    </Shell>
  );
}
