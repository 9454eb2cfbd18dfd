"""The code of docs/add_your_own_loss.md, as a module that estimators can be pickled from."""

import re
import sys
import types
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "add_your_own_loss.md"
DEFINITIONS, *EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)

module = sys.modules.setdefault("rank_logistic", types.ModuleType("rank_logistic"))
exec(compile(DEFINITIONS, str(PAGE), "exec"), vars(module))

LogisticLoss = module.LogisticLoss
RankLogistic = module.RankLogistic
