"""Answers for people and for programs: tables, JSON, sentences, plots, pages."""

from orbitmc._util.loading import load_lazily, renderer

__getattr__, __dir__ = load_lazily(__name__, __file__)

renderer.add(
    {
        "html": "orbitmc.report.notebook",
        "plot_draws": "orbitmc.report.plots",
        "plot_estimates": "orbitmc.report.plots",
        "plot_joint": "orbitmc.report.plots",
        "plot_marginals": "orbitmc.report.plots",
        "plot_sensitivity": "orbitmc.report.plots",
        "plot_sweep": "orbitmc.report.plots",
        "write_page": "orbitmc.report.page",
    }
)
