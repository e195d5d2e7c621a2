"""Templated fields that are text, whatever they look like."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from airflow.providers.common.compat.sdk import BaseOperator
from jinja2.nativetypes import NativeEnvironment

if TYPE_CHECKING:
    import jinja2
    from airflow.sdk import DAG
    from airflow.sdk.definitions.context import Context

_OF_TEXTS: Final[Any] = SimpleNamespace(render_template_as_native_obj=False)
"""Stands for a DAG that renders its templates to text."""


class TextFields(BaseOperator):
    """Renders some of an operator's templated fields as text, also in a DAG that renders its templates to objects.

    With ``render_template_as_native_obj=True`` Airflow takes what it has rendered for a Python literal: the key
    ``2013`` would become a number, and ``1_000`` the number 1000, which nobody could turn back.
    """

    text_fields: Sequence[str] = ()
    """The templated fields that are text."""
    _rendering_text = False

    def _do_render_template_fields(
        self,
        parent: Any,
        template_fields: Iterable[str],
        context: Context,
        jinja_env: jinja2.Environment,
        seen_oids: set[int],
    ) -> None:
        fields = list(template_fields)
        texts = [name for name in fields if name in self.text_fields]
        self._rendering_text = True
        try:
            super()._do_render_template_fields(parent, texts, context, self._plain(jinja_env), seen_oids)
        finally:
            self._rendering_text = False
        others = [name for name in fields if name not in texts]
        super()._do_render_template_fields(parent, others, context, jinja_env, seen_oids)

    def _should_render_native(self, dag: DAG | None = None) -> bool:
        return not self._rendering_text and super()._should_render_native(dag)

    def _render(self, template: Any, context: Any, dag: Any = None) -> Any:
        """Render one template; Airflow 3.1 asks nobody but the DAG how."""
        return super()._render(template, context, _OF_TEXTS if self._rendering_text else dag)

    def _plain(self, jinja_env: jinja2.Environment) -> jinja2.Environment:
        """Return the environment with its filters and macros, but for text."""
        dag = self.get_dag()
        if dag is None or not isinstance(jinja_env, NativeEnvironment):
            return jinja_env
        return dag.get_template_env(force_sandboxed=True)
