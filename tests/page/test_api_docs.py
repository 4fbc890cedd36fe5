"""The page of the API, opened in a real browser under the server's content security policy."""

from playwright.sync_api import Browser, expect

from page.browser import opened
from server.process import ServerProcess


def test_the_page_of_the_api_shows_it_and_breaks_no_policy(
    browser: Browser, server: ServerProcess
) -> None:
    with opened(browser, server.url) as page:
        page.add_init_script(
            "window.violations = [];"
            "document.addEventListener('securitypolicyviolation',"
            " event => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));"
        )
        errors: list[str] = []
        page.on("console", lambda told: errors.append(told.text) if told.type == "error" else None)
        page.goto("/api/docs")
        expect(page.get_by_role("heading", name="Headwater")).to_be_visible()
        operation = page.locator(".opblock", has_text="/api/v1/lineage/whole")
        expect(operation).to_be_visible()
        operation.locator(".opblock-summary-control").click()
        operation.get_by_role("button", name="Try it out").click()
        operation.get_by_role("button", name="Execute").click()
        expect(
            operation.locator(".live-responses-table .response .response-col_status")
        ).to_contain_text("200")
        assert page.evaluate("window.violations") == []
        assert errors == []
